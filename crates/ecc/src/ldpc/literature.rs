use super::ParityCheck;
use crate::bch::field::Field;

/// Codes of the literature whose error floors are known, made from their algebra. Methods that look for the causes of error floors are
/// compared with the published results for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceCode {
    /// The Margulis code (2640, 1320): (3, 6)-regular, girth 8, full rank.
    ///
    /// Checks are the elements g of SL(2, 11), the 1,320 matrices of determinant 1 over the integers modulo 11. Bits are two copies of it,
    /// in the same order. Let A = (1 2; 0 1) and B = (1 0; 2 1). Check g holds the bits g A^2, g A B A^-1 and g B of the first copy. Of the
    /// second it holds g A^-2, g A B^-1 A^-1 and g B^-1. Its failures at low noise come from 1,320 sets of 12 bits with 4 unsatisfied
    /// checks, and 1,320 sets of 14 bits with 4.
    ///
    /// Source: G. Margulis, "Explicit constructions of graphs without short cycles and low density codes", 1982; J.
    /// Rosenthal, P. Vontobel, "Constructions of LDPC codes using Ramanujan graphs and ideas from Margulis", 2000; D.
    /// MacKay, M. Postol, "Weaknesses of Margulis and Ramanujan-Margulis low-density parity-check codes", 2003; T.
    /// Richardson, "Error floors of LDPC codes", 2003 (the sets).
    Margulis2640,
    /// A code like that of 10GBASE-T Ethernet, IEEE 802.3an: (2048, 1723), (6, 32)-regular, girth 6, 384 checks of rank
    /// 325.
    ///
    /// A check is a codeword of a Reed-Solomon code over GF(64) of length 32 with two information symbols. In each of the 32 blocks of 64
    /// bits it holds the bit whose number is the codeword's symbol. Two codewords agree in one symbol at most, so there are no cycles of
    /// length 4. The 64 checks of a block row are a coset of the multiples of one codeword without zeros, and agree nowhere.
    ///
    /// Here that codeword is (1 + alpha x) g(x), and the cosets are those of mu x g(x) with mu = 0, 1, alpha, ..., alpha^4. The polynomial
    /// g has the roots alpha to alpha^30, where alpha^6 = alpha + 1.
    ///
    /// The standard prints its matrix, and does not say how these choices were made. Size and rank hardly depend on them, but the number of
    /// absorbing sets of 8 bits with 8 unsatisfied checks does. There are 190 codes of this rank that have other first codewords, other
    /// primitive alphas, or mu = 1, alpha, ..., alpha^5. Among them the number lies between 2,048 and 26,496. Only this code, and the same
    /// with its blocks in reverse, has the 14,272 sets that are published for the standard's. So it is probably that code, but for the
    /// order of checks and bits.
    ///
    /// Source: I. Djurdjevic, J. Xu, K. Abdel-Ghaffar, S. Lin, "A class of low-density parity-check codes constructed
    /// based on Reed-Solomon codes with two information symbols", 2003; Z. Zhang, L. Dolecek, B. Nikolic, V. Anantharam,
    /// M. Wainwright, "Design of LDPC decoders for improved low error rate performance: quantization and algorithm
    /// choices", 2009 (the sets).
    Ethernet2048,
}

impl ReferenceCode {
    /// All codes.
    pub const ALL: [Self; 2] = [Self::Margulis2640, Self::Ethernet2048];

    /// The name of the code, such as `margulis-2640`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Margulis2640 => "margulis-2640",
            Self::Ethernet2048 => "ethernet-2048",
        }
    }

    /// The parity-check matrix.
    pub fn parity_check(self) -> ParityCheck {
        let matrix = match self {
            Self::Margulis2640 => {
                let group = SpecialLinear::new();
                ParityCheck::from_rows(2 * group.elements.len(), &margulis_rows(&group))
            }
            Self::Ethernet2048 => ParityCheck::from_rows(64 * RS_LENGTH, &ReedSolomon::new().rows()),
        };
        matrix.expect("rows are not empty, nor are columns twice in them")
    }

    /// The number of known [symmetries](Self::symmetry): 1,320 or 64.
    pub fn symmetries(self) -> usize {
        match self {
            Self::Margulis2640 => SpecialLinear::new().elements.len(),
            Self::Ethernet2048 => 64,
        }
    }

    /// A permutation of the bits that maps checks to checks: the image of each bit. Those with `index` below
    /// [`symmetries`](Self::symmetries) form a group, and all but the identity move every bit. So sets of bits come in families whose size
    /// divides that of the group, and one set of a family stands for all.
    ///
    /// # Panics
    /// If there is no such symmetry.
    pub fn symmetry(self, index: usize) -> Vec<u32> {
        match self {
            Self::Margulis2640 => {
                // Checks are multiplied from the right, so multiplication from the left commutes with them.
                let group = SpecialLinear::new();
                let by = group.elements[index];
                let image = |copy: usize, element: &Element| group.number(multiply(by, *element)) + 1320 * copy as u32;
                (0..2).flat_map(|copy| group.elements.iter().map(move |element| image(copy, element))).collect()
            }
            Self::Ethernet2048 => {
                // A multiple of the codeword is added to all codewords, which stay in their cosets.
                assert!(index < 64, "symmetry {index} of 64");
                let code = ReedSolomon::new();
                let moved = code.first.map(|symbol| code.field.multiply(symbol, index as u16));
                (0..64 * RS_LENGTH).map(|bit| bit as u32 ^ u32::from(moved[bit / 64])).collect()
            }
        }
    }
}

/// The entries a, b, c, d of a matrix (a b; c d) modulo [`PRIME`].
type Element = [u32; 4];

const PRIME: u32 = 11;

/// The special linear group SL(2, 11), in lexicographic order.
struct SpecialLinear {
    elements: Vec<Element>,
}

impl SpecialLinear {
    fn new() -> Self {
        let entry = |code: u32, place: u32| code / PRIME.pow(place) % PRIME;
        let elements = (0..PRIME.pow(4)).map(|code| [3, 2, 1, 0].map(|place| entry(code, place)));
        Self { elements: elements.filter(|&[a, b, c, d]| (a * d + (PRIME - b) * c) % PRIME == 1).collect() }
    }

    fn number(&self, element: Element) -> u32 {
        self.elements.binary_search(&element).expect("determinants multiply") as u32
    }
}

fn multiply([a, b, c, d]: Element, [e, f, g, h]: Element) -> Element {
    [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h].map(|entry| entry % PRIME)
}

fn inverse([a, b, c, d]: Element) -> Element {
    [d, (PRIME - b) % PRIME, (PRIME - c) % PRIME, a]
}

fn margulis_rows(group: &SpecialLinear) -> Vec<[u32; 6]> {
    const A: Element = [1, 2, 0, 1];
    const B: Element = [1, 0, 2, 1];
    let first = [multiply(A, A), multiply(multiply(A, B), inverse(A)), B];
    let row = |&element: &Element| {
        let [a, b, c] = first.map(|factor| group.number(multiply(element, factor)));
        let [d, e, f] = first.map(|factor| 1320 + group.number(multiply(element, inverse(factor))));
        [a, b, c, d, e, f]
    };
    group.elements.iter().map(row).collect()
}

const RS_LENGTH: usize = 32;

/// A Reed-Solomon code of length 32 with two information symbols: two codewords that span it.
struct ReedSolomon {
    field: Field,
    /// (1 + alpha x) g(x), which has no zeros.
    first: [u16; RS_LENGTH],
    /// x g(x).
    second: [u16; RS_LENGTH],
}

impl ReedSolomon {
    fn new() -> Self {
        let field = Field::new(6);
        let mut generator = [0; RS_LENGTH];
        generator[0] = 1;
        for root in 1..=RS_LENGTH - 2 {
            for power in (0..=root).rev() {
                let below = if power == 0 { 0 } else { generator[power - 1] };
                generator[power] = below ^ field.multiply(generator[power], field.power(root));
            }
        }
        let mut second = generator;
        second.rotate_right(1);
        let mut first = generator;
        for (symbol, &shifted) in first.iter_mut().zip(&second) {
            *symbol ^= field.multiply(shifted, field.power(1));
        }
        Self { field, first, second }
    }

    fn rows(&self) -> Vec<[u32; RS_LENGTH]> {
        let leaders = std::iter::once(0).chain((0..5).map(|exponent| self.field.power(exponent)));
        let codeword = |leader: u16, multiple: u16| {
            std::array::from_fn(|block| {
                let symbol =
                    self.field.multiply(self.first[block], multiple) ^ self.field.multiply(self.second[block], leader);
                64 * block as u32 + u32::from(symbol)
            })
        };
        leaders.flat_map(|leader| (0..64).map(move |multiple| codeword(leader, multiple))).collect()
    }
}
