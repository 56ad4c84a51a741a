use super::field::{Field, primitive_polynomial};
use super::roots::Basis;
use super::vector::{Dispatch, Kernel, Plane, Vectors};

/// Logarithm of the number of field elements in a plane.
const PLANE_BITS: u32 = 9;

/// Evaluates polynomials at all field elements, 512 elements together, bit by bit. Cosets of the transformed span lie side by side in a
/// plane, so that no step is within a plane, and each coset may have its own factor.
#[derive(Debug)]
pub(crate) struct BitSliced {
    field_bits: u32,
    /// Number of elements of the field's basis that make the span of a transform.
    span_bits: u32,
    /// Values for each plane of cosets, bit by bit: first s_i there, for i below `span_bits`, then X_(k 2^span_bits), for k = 1, 2, ...
    coset_values: Vec<Vec<Plane>>,
    /// The values of s_i, for i below `span_bits`, at the multiples of alpha^(i+1) in the span.
    span_values: Vec<Vec<u16>>,
    dispatch: Dispatch,
}

/// The working memory of one [`BitSliced::find`].
#[derive(Debug)]
pub(crate) struct Scratch {
    values: Vec<Plane>,
    zeros: Vec<Plane>,
}

impl BitSliced {
    pub(crate) fn new(field: &Field, basis: &Basis, degree: usize, dispatch: Dispatch) -> Self {
        let field_bits = basis.field_bits();
        let layers = degree.ilog2() + 1;
        let span_bits = degree.ilog2().min(field_bits.saturating_sub(PLANE_BITS));
        let span = span_bits as usize;
        let cosets = 1usize << (field_bits - span_bits);
        let product = |k: usize, at: usize| {
            let bits = (0..layers as usize - span).filter(|bit| k >> bit & 1 == 1);
            bits.fold(1, |product, bit| field.multiply(product, basis.value(span + bit, at)))
        };
        let coset_values = (0..cosets)
            .step_by(1 << PLANE_BITS)
            .map(|first| {
                let coset = |lane: usize| ((first + lane) % cosets) << span;
                let single = (0..span).map(|i| planes(field_bits, |lane| basis.value(i, coset(lane))));
                let products = (1..=degree >> span).map(|k| planes(field_bits, |lane| product(k, coset(lane))));
                single.chain(products).flatten().collect()
            })
            .collect();
        let span_values = (0..span)
            .map(|i| (0..1 << (span - 1 - i)).map(|block| basis.value(i, block << (i + 1))).collect())
            .collect();
        Self { field_bits, span_bits, coset_values, span_values, dispatch }
    }

    pub(crate) fn scratch(&self) -> Scratch {
        let plane = [0; 8];
        Scratch {
            values: vec![plane; (self.field_bits as usize) << self.span_bits],
            zeros: vec![plane; 1 << self.span_bits],
        }
    }

    /// Calls `found` for each root of the polynomial with the given coefficients of the X_k.
    pub(crate) fn find(&self, coefficients: &[u16], scratch: &mut Scratch, mut found: impl FnMut(u16)) {
        let cosets = 1usize << (self.field_bits - self.span_bits);
        for (index, coset_values) in self.coset_values.iter().enumerate() {
            macro_rules! evaluate {
                ($($bits:literal)*) => {
                    match self.field_bits {
                        $($bits => self.dispatch.run(Evaluate::<$bits> {
                            transform: self,
                            coset_values,
                            coefficients,
                            scratch,
                        }),)*
                        bits => unreachable!("there is no GF(2^{bits})"),
                    }
                };
            }
            evaluate!(5 6 7 8 9 10 11 12 13 14 15 16);
            for (element, zeros) in scratch.zeros.iter().enumerate() {
                for (word, &zeros) in zeros.iter().enumerate() {
                    let mut left = zeros;
                    while left != 0 {
                        let coset = (index << PLANE_BITS) + 64 * word + left.trailing_zeros() as usize;
                        if coset < cosets {
                            found((coset << self.span_bits | element) as u16);
                        }
                        left &= left - 1;
                    }
                }
            }
        }
    }
}

/// The bits of `element(0)`, `element(1)`, ...: a plane for each bit.
fn planes(field_bits: u32, element: impl Fn(usize) -> u16) -> Vec<Plane> {
    let mut planes = vec![[0; 8]; field_bits as usize];
    for lane in 0..1 << PLANE_BITS {
        let element = element(lane);
        for (bit, plane) in planes.iter_mut().enumerate() {
            plane[lane / 64] |= u64::from(element >> bit & 1) << (lane % 64);
        }
    }
    planes
}

/// Evaluates the polynomial on a plane of cosets.
struct Evaluate<'a, const M: usize> {
    transform: &'a BitSliced,
    coset_values: &'a [Plane],
    coefficients: &'a [u16],
    scratch: &'a mut Scratch,
}

/// Repeats a statement for each number below M. A loop over so much code would not be unrolled.
macro_rules! rows {
    ($row:ident => $statement:expr) => {
        rows!(@ $row => $statement; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (descending $row:ident => $statement:expr) => {
        rows!(@ $row => $statement; 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0)
    };
    (@ $row:ident => $statement:expr; $($number:literal)*) => {
        $(
            let $row: usize = $number;
            if $row < M {
                $statement
            }
        )*
    };
}

#[inline(always)]
fn load<V: Vectors, const M: usize>(vectors: V, planes: &[Plane; M], part: usize) -> [V::Bits; M] {
    let mut element = [vectors.zero(); M];
    for (bits, plane) in element.iter_mut().zip(planes) {
        *bits = vectors.load(plane, part);
    }
    element
}

/// The bits of the same field element in every place.
#[inline(always)]
fn broadcast<V: Vectors, const M: usize>(vectors: V, element: u16) -> [V::Bits; M] {
    let mut bits = [vectors.zero(); M];
    for (bit, bits) in bits.iter_mut().enumerate() {
        if element >> bit & 1 == 1 {
            *bits = vectors.ones();
        }
    }
    bits
}

/// A product that is not reduced: 2 M - 1 coefficients.
type Product<V> = [<V as Vectors>::Bits; 31];

#[inline(always)]
fn add_product<V: Vectors, const M: usize>(vectors: V, sum: &mut Product<V>, a: [V::Bits; M], b: [V::Bits; M]) {
    rows!(row => for column in 0..M {
        sum[row + column] = vectors.add_product(sum[row + column], a[row], b[column]);
    });
}

/// Reduces a product: its first M elements become the field element.
#[inline(always)]
fn reduce<V: Vectors, const M: usize>(vectors: V, product: &mut Product<V>) {
    let polynomial = const { primitive_polynomial(M) };
    rows!(descending row => if row + 1 < M {
        for term in 0..M {
            if polynomial >> term & 1 == 1 {
                product[row + term] = vectors.xor(product[row + term], product[M + row]);
            }
        }
    });
}

impl<const M: usize> Kernel for Evaluate<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vectors>(self, vectors: V) {
        let Self { transform, coset_values, coefficients, scratch: Scratch { values, zeros } } = self;
        let (span_bits, degree) = (transform.span_bits as usize, coefficients.len() - 1);
        let (coset_values, _) = coset_values.as_chunks::<M>();
        let (values, _) = values.as_chunks_mut::<M>();
        let (singles, products) = coset_values.split_at(span_bits);

        for (element, planes) in values.iter_mut().enumerate() {
            for part in 0..V::PARTS {
                let mut sum = [vectors.zero(); 31];
                for (k, product) in (1..=(degree.saturating_sub(element)) >> span_bits).zip(products) {
                    add_product::<V, M>(
                        vectors,
                        &mut sum,
                        load(vectors, product, part),
                        broadcast(vectors, coefficients[k << span_bits | element]),
                    );
                }
                reduce::<V, M>(vectors, &mut sum);
                for ((plane, sum), constant) in planes
                    .iter_mut()
                    .zip(sum)
                    .zip(broadcast::<V, M>(vectors, coefficients.get(element).copied().unwrap_or(0)))
                {
                    vectors.store(vectors.xor(sum, constant), plane, part);
                }
            }
        }
        for (i, single) in singles.iter().enumerate().rev() {
            let half = 1 << i;
            for (pair, &in_span) in values.chunks_exact_mut(2 * half).zip(&transform.span_values[i]) {
                let (lower, upper) = pair.split_at_mut(half);
                for (element, (lower, upper)) in lower.iter_mut().zip(upper).enumerate() {
                    if half | element > degree {
                        *upper = *lower;
                        continue;
                    }
                    for part in 0..V::PARTS {
                        let b = load(vectors, upper, part);
                        let (mut factor, constant) = (load(vectors, single, part), broadcast::<V, M>(vectors, in_span));
                        let mut sum = [vectors.zero(); 31];
                        for bit in 0..M {
                            factor[bit] = vectors.xor(factor[bit], constant[bit]);
                            sum[bit] = vectors.load(&lower[bit], part);
                        }
                        add_product::<V, M>(vectors, &mut sum, factor, b);
                        reduce::<V, M>(vectors, &mut sum);
                        for bit in 0..M {
                            vectors.store(sum[bit], &mut lower[bit], part);
                            vectors.store(vectors.xor(sum[bit], b[bit]), &mut upper[bit], part);
                        }
                    }
                }
            }
        }
        for (zeros, planes) in zeros.iter_mut().zip(values.iter()) {
            for part in 0..V::PARTS {
                let mut any = vectors.zero();
                for plane in planes {
                    any = vectors.or(any, vectors.load(plane, part));
                }
                vectors.store(vectors.xor(any, vectors.ones()), zeros, part);
            }
        }
    }
}
