use super::bit_sliced::BitSliced;
use super::field::Field;
use super::vector::{Dispatch, ELEMENTS, Kernel, Vectors};

/// Finds the roots of a polynomial over GF(2^m) from its values at all elements, by an additive fast Fourier transform.
///
/// Source: S.-J. Lin, W.-H. Chung, Y. S. Han, "Novel polynomial basis and its application to Reed-Solomon erasure codes", 2014.
#[derive(Debug)]
pub(crate) struct RootFinder {
    basis: Basis,
    transform: Transform,
}

#[derive(Debug)]
enum Transform {
    BitSliced(BitSliced),
    #[cfg(target_arch = "x86_64")]
    Affine(Box<super::affine::Affine>),
}

/// A basis of polynomials for evaluation on subspaces. The field has the basis 1, alpha, alpha^2, ... The polynomial s_i vanishes on the
/// span of the first i of these, and is scaled to be 1 at alpha^i. X_k is the product of the s_i over the bits i of k.
///
/// Let f = a + s_i b, where a and b are combinations of X_k with k < 2^i. On a coset of a span of i + 1 elements, f
/// equals a + w b on the half where s_i is w, and a + w b + b on the other half.
#[derive(Debug)]
pub(crate) struct Basis {
    field_bits: u32,
    /// The coefficients of s_i at x^(2^j), j = 0 to i.
    polynomials: Vec<Vec<u16>>,
    /// The values of s_i at 1, alpha, alpha^2, ...
    values: Vec<Vec<u16>>,
}

impl Basis {
    /// Computes the s_i for i below `count`.
    fn new(field: &Field, count: usize) -> Self {
        let field_bits = field.bits();
        // s_(i+1)(x) = s_i(x)^2 + s_i(x), times a constant; the values follow likewise.
        let mut values: Vec<Vec<u16>> = vec![(0..field_bits).map(|i| 1 << i).collect()];
        let mut polynomials: Vec<Vec<u16>> = vec![vec![1]];
        for i in 1..count {
            let next: Vec<u16> = values[i - 1].iter().map(|&value| field.square(value) ^ value).collect();
            let scale = field.divide(1, next[i]);
            values.push(next.iter().map(|&value| field.multiply(value, scale)).collect());
            let last = &polynomials[i - 1];
            let coefficient = |j: usize| {
                let squared = if j == 0 { 0 } else { field.square(last[j - 1]) };
                field.multiply(squared ^ last.get(j).copied().unwrap_or(0), scale)
            };
            polynomials.push((0..=i).map(coefficient).collect());
        }
        Self { field_bits, polynomials, values }
    }

    /// m, the bits of a field element.
    pub(crate) fn field_bits(&self) -> u32 {
        self.field_bits
    }

    /// The value of s_i at `element`.
    pub(crate) fn value(&self, i: usize, element: usize) -> u16 {
        let bits = (0..self.field_bits as usize).filter(|bit| element >> bit & 1 == 1);
        bits.fold(0, |sum, bit| sum ^ self.values[i][bit])
    }
}

/// The working memory of one [`RootFinder::find`].
#[derive(Debug)]
pub(crate) struct Scratch {
    coefficients: Vec<u16>,
    quotient: Vec<u16>,
    transform: TransformScratch,
}

#[derive(Debug)]
enum TransformScratch {
    BitSliced(super::bit_sliced::Scratch),
    #[cfg(target_arch = "x86_64")]
    Affine(super::affine::Scratch),
}

impl RootFinder {
    /// Prepares to find the roots of polynomials whose degree is at most `degree`.
    pub(crate) fn new(field: &Field, degree: usize, dispatch: Dispatch) -> Self {
        let basis = Basis::new(field, field.bits() as usize);
        #[cfg(target_arch = "x86_64")]
        if let Some(affine) = super::affine::Affine::new(field, &basis, degree, dispatch) {
            return Self { basis, transform: Transform::Affine(Box::new(affine)) };
        }
        let transform = Transform::BitSliced(BitSliced::new(field, &basis, degree, dispatch));
        Self { basis, transform }
    }

    /// Returns space for one search at a time for roots of polynomials of at most `degree`.
    pub(crate) fn scratch(&self, degree: usize) -> Scratch {
        let transform = match &self.transform {
            Transform::BitSliced(transform) => TransformScratch::BitSliced(transform.scratch()),
            #[cfg(target_arch = "x86_64")]
            Transform::Affine(transform) => TransformScratch::Affine(transform.scratch()),
        };
        let coefficients = vec![0; (degree + 1).next_multiple_of(ELEMENTS)];
        let quotient = vec![0; coefficients.len() + (1 << degree.ilog2())];
        Scratch { coefficients, quotient, transform }
    }

    /// Calls `found` for each root of the polynomial of degree `degree` (1 at least) with the given coefficients, lowest first.
    pub(crate) fn find(
        &self,
        field: &Field,
        polynomial: &[u16],
        degree: usize,
        scratch: &mut Scratch,
        dispatch: Dispatch,
        found: impl FnMut(u16),
    ) {
        let Scratch { coefficients, quotient, transform } = scratch;
        coefficients[..=degree].copy_from_slice(&polynomial[..=degree]);
        coefficients[degree + 1..].fill(0);
        dispatch.run(ChangeBasis { basis: &self.basis, field, degree, coefficients, quotient });
        match (&self.transform, transform) {
            (Transform::BitSliced(transform), TransformScratch::BitSliced(scratch)) => {
                transform.find(&coefficients[..=degree], scratch, found);
            }
            #[cfg(target_arch = "x86_64")]
            (Transform::Affine(transform), TransformScratch::Affine(scratch)) => {
                transform.find(field, &coefficients[..=degree], scratch, found);
            }
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("the scratch space is another finder's"),
        }
    }
}

/// Turns coefficients of 1, x, x^2, ... into coefficients of the X_k. Division by s_i splits each block of 2^(i+1) in two halves.
struct ChangeBasis<'a> {
    basis: &'a Basis,
    field: &'a Field,
    degree: usize,
    /// Coefficients in whole chunks, zeros beyond the degree.
    coefficients: &'a mut [u16],
    /// Quotients, as many as coefficients, followed by zeros for half of the longest block.
    quotient: &'a mut [u16],
}

impl Kernel for ChangeBasis<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vectors>(self, vectors: V) {
        let Self { basis, field, degree, coefficients, quotient } = self;
        let (chunks, _) = coefficients.as_chunks_mut::<ELEMENTS>();
        for i in (1..=degree.ilog2() as usize).rev() {
            let (half, quarter) = (1 << i, 1 << (i - 1));
            let (&leading, others) = basis.polynomials[i].split_last().expect("s_i has a leading term");
            let scale = vectors.factor(field, field.divide(1, leading));
            // The second highest term of s_i is a quarter of a block below the highest. So a quarter is divided at once, in all blocks.
            for start in [half + quarter, half] {
                let in_quarter = |place: usize| place % (2 * half) / quarter == start / quarter;
                let (quotients, _) = quotient.as_chunks_mut::<ELEMENTS>();
                for (index, (chunk, quotients)) in chunks.iter_mut().zip(quotients).enumerate() {
                    let scaled = vectors.add_multiple([0; ELEMENTS], *chunk, scale);
                    for (place, (coefficient, quotient)) in chunk.iter_mut().zip(quotients).enumerate() {
                        let now = if in_quarter(index * ELEMENTS + place) { u16::MAX } else { 0 };
                        *quotient = scaled[place] & now;
                        *coefficient = *coefficient & !now | *quotient;
                    }
                }
                for (j, &coefficient) in others.iter().enumerate() {
                    let factor = vectors.factor(field, coefficient);
                    let (quotients, _) = quotient[half - (1 << j)..].as_chunks::<ELEMENTS>();
                    for (chunk, quotients) in chunks.iter_mut().zip(quotients) {
                        *chunk = vectors.add_multiple(*chunk, *quotients, factor);
                    }
                }
            }
        }
    }
}
