use super::field::Field;
use super::vector::{Dispatch, ELEMENTS, Kernel, Vectors};

/// Finds error locators: the shortest linear recurrence of the syndromes.
///
/// Source: J. Massey, "Shift-register synthesis and BCH decoding", 1969. Over GF(2) every second step changes nothing: E. Berlekamp,
/// "Algebraic Coding Theory", 1968, section 7.6. The product of syndromes and locator is carried along instead of being computed anew in
/// each step: D. Sarwate, N. Shanbhag, "High-speed architectures for Reed-Solomon decoders", 2001.
#[derive(Debug)]
pub(crate) struct LocatorFinder {
    correctable: usize,
    /// Number of zeros before each polynomial, so that it can be read multiplied by a power of x.
    margin: usize,
    /// Start of the product of syndromes and locator in a state, counted from the end of the margin.
    product: usize,
    /// The locator, lowest coefficient first, and its product.
    state: Vec<u16>,
    /// The state before the recurrence last became longer.
    previous: Vec<u16>,
    next: Vec<u16>,
}

impl LocatorFinder {
    pub(crate) fn new(correctable: usize) -> Self {
        let margin = (2 * correctable).next_multiple_of(ELEMENTS);
        let product = (correctable + 1).next_multiple_of(ELEMENTS);
        let state = vec![0; margin + product + (2 * correctable + 1).next_multiple_of(ELEMENTS)];
        Self { correctable, margin, product, state: state.clone(), previous: state.clone(), next: state }
    }

    /// The coefficients of the last locator found, lowest first, zeros beyond its degree.
    pub(crate) fn locator(&self) -> &[u16] {
        &self.state[self.margin..self.margin + self.product]
    }

    /// Finds the locator for the syndromes S_1 to S_2t (element j is S_j). Returns its degree, which is the number of errors, or None if
    /// there are too many errors.
    pub(crate) fn find(&mut self, field: &Field, syndromes: &[u16], dispatch: Dispatch) -> Option<usize> {
        dispatch.run(Find { finder: self, field, syndromes })
    }
}

struct Find<'a> {
    finder: &'a mut LocatorFinder,
    field: &'a Field,
    syndromes: &'a [u16],
}

impl Kernel for Find<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<V: Vectors>(self, vectors: V) -> Option<usize> {
        let Self { finder: LocatorFinder { correctable, margin, product, state, previous, next }, field, syndromes } =
            self;
        let (correctable, margin, product) = (*correctable, *margin, *product);
        for polynomials in [&mut *state, &mut *previous, &mut *next] {
            polynomials.fill(0);
        }
        state[margin] = 1;
        state[margin + product] = 1;
        state[margin + product + 1..][..2 * correctable].copy_from_slice(&syndromes[1..]);
        previous.copy_from_slice(state);
        let mut previous_discrepancy = 1;
        let mut shift = 1;
        let mut length = 0;
        for step in 0..correctable {
            let discrepancy = state[margin + product + 2 * step + 1];
            if discrepancy != 0 {
                let longer = length <= step;
                let new_length = if longer { 2 * step + 1 - length } else { length };
                if new_length > correctable {
                    return None;
                }
                let factor = vectors.factor(field, field.divide(discrepancy, previous_discrepancy));
                // The locator has the coefficients 0 to its length. Only the future part of the product is used.
                let future = (product + 2 * step + 1) / ELEMENTS * ELEMENTS;
                for range in [future..product + 2 * correctable + 1, 0..new_length + 1] {
                    let (from, to) = (margin + range.start, margin + range.end.next_multiple_of(ELEMENTS));
                    let (sums, _) = next[from..to].as_chunks_mut();
                    let (here, _) = state[from..to].as_chunks();
                    let (shifted, _) = previous[from - shift..to - shift].as_chunks();
                    for ((sum, here), shifted) in sums.iter_mut().zip(here).zip(shifted) {
                        *sum = vectors.add_multiple(*here, *shifted, factor);
                    }
                }
                std::mem::swap(state, next);
                if longer {
                    std::mem::swap(previous, next);
                    previous_discrepancy = discrepancy;
                    length = new_length;
                    shift = 0;
                }
            }
            shift += 2;
        }
        (state[margin + length] != 0).then_some(length)
    }
}
