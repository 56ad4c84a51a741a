//! Gradient-descent bit flipping on hard decisions. After a flip only the values that it changes are recomputed.

use std::sync::Arc;

use softsense_base::{Error, Result};

use super::ParityCheck;
use super::parity_check::{Columns, Syndrome};
use crate::{Outcome, bits};

/// Contribution of a check to the energy of its bits: this number if it is violated, its negative if it is satisfied.
const CHECK: i16 = 1;
/// Contribution of a difference from the received bit.
const CORRELATION: i16 = 3;
/// The momentum: the reduction of the energy in the iterations after a flip.
const MOMENTUM: [i16; 4] = [2, 2, 1, 1];
/// Number of bits whose largest energy is found together.
const CHUNK: usize = 64;
const LARGEST_WEIGHT: usize = 16_000;

/// A hard-decision decoder of any parity-check matrix by gradient-descent bit flipping with momentum.
///
/// The energy of a bit is its violated checks less its satisfied ones, plus three if it differs from the received bit. In the four
/// iterations after a flip a momentum of 2, 2, 1, 1 is subtracted. Each iteration flips all bits of the largest
/// energy at once. The momentum breaks the oscillations in which plain gradient descent is caught; nothing is random.
/// On the (4,36)-regular `flash-8/9` at p = 0.0055 and 100 iterations, 219 of 3000 words failed by plain gradient
/// descent and 1 with these numbers.
///
/// Source: T. Wadayama, K. Nakamura, M. Yagita, Y. Funahashi, S. Usami, I. Takumi, "Gradient descent bit flipping
/// algorithms for decoding LDPC codes", 2010, the parallel algorithm with the largest energy for its threshold; V.
/// Savin, "Gradient descent bit-flipping decoding with momentum", 2021, without its random choice, with numbers fitted
/// by simulation.
#[derive(Debug, Clone)]
pub struct BitFlipping {
    parity_check: Arc<ParityCheck>,
    columns: Columns,
    max_iterations: u32,
    /// Energies of a word without a violated check.
    quiet: Vec<i16>,
    energies: Vec<i16>,
    syndrome: Syndrome,
    /// The violated checks.
    violated: Vec<bool>,
    /// The bits that were flipped in the last iterations, and for each of these bits the number of iterations since.
    recent: Vec<u32>,
    ages: Vec<u8>,
    flips: Vec<u32>,
    /// The largest energy of each chunk of bits.
    largest: Vec<i16>,
}

impl BitFlipping {
    /// Returns the decoder of `parity_check` that stops at a codeword or after `max_iterations`.
    ///
    /// # Errors
    /// A column of more than 16,000 ones.
    pub fn new(parity_check: Arc<ParityCheck>, max_iterations: u32) -> Result<Self> {
        let columns = parity_check.transpose();
        let weights = || (0..parity_check.columns()).map(|column| columns.of(column).len());
        if let Some(column) = weights().position(|weight| weight > LARGEST_WEIGHT) {
            let found = columns.of(column).len();
            let message = format!(
                "found a column with {found} ones, expected at most {LARGEST_WEIGHT} for bit-flipping; another \
                 --decoder has no such limit"
            );
            return Err(Error::code(format!("column {}", column + 1), message));
        }
        // A bit in no check is never flipped.
        let quiet = weights().map(|weight| if weight == 0 { i16::MIN } else { -CHECK * weight as i16 }).collect();
        let bits = parity_check.columns();
        Ok(Self {
            columns,
            max_iterations,
            quiet,
            energies: vec![0; bits],
            syndrome: Syndrome::new(&parity_check),
            violated: vec![false; parity_check.rows()],
            recent: Vec::with_capacity(bits),
            ages: vec![MOMENTUM.len() as u8; bits],
            flips: Vec::with_capacity(bits),
            largest: vec![0; bits.div_ceil(CHUNK)],
            parity_check,
        })
    }

    /// Decodes the packed word `received` into the packed word `decided`.
    ///
    /// # Panics
    /// If either does not have the bytes of a codeword, or a padding bit of `received` is not zero.
    pub fn decode(&mut self, received: &[u8], decided: &mut [u8]) -> Outcome {
        let columns = self.parity_check.columns();
        let bytes = bits::bytes_for(columns);
        assert_eq!((received.len(), decided.len()), (bytes, bytes), "bytes of a codeword");
        assert!((columns..8 * bytes).all(|padding| !bits::get(received, padding)), "padding bits are zero");
        decided.copy_from_slice(received);
        let mut syndrome_weight = self.start(received);
        let mut iterations = 0;
        while syndrome_weight > 0 && iterations < self.max_iterations {
            self.choose();
            self.grow_older();
            for index in 0..self.flips.len() {
                let bit = self.flips[index] as usize;
                bits::flip(decided, bit);
                let differs = bits::get(decided, bit) != bits::get(received, bit);
                self.energies[bit] += if differs { CORRELATION } else { -CORRELATION };
                for &check in self.columns.of(bit) {
                    let violated = &mut self.violated[check as usize];
                    *violated = !*violated;
                    let (count, change) = if *violated { (1, 2 * CHECK) } else { (-1, -2 * CHECK) };
                    syndrome_weight += count;
                    for &neighbour in self.parity_check.row(check as usize) {
                        self.energies[neighbour as usize] += change;
                    }
                }
            }
            iterations += 1;
        }
        self.recent.drain(..).for_each(|bit| self.ages[bit as usize] = MOMENTUM.len() as u8);
        Outcome { converged: syndrome_weight == 0, iterations, syndrome_weight: syndrome_weight as u32 }
    }

    /// Computes the violated checks of the received word, their number, and the energies.
    fn start(&mut self, received: &[u8]) -> i32 {
        self.energies.copy_from_slice(&self.quiet);
        self.violated.fill(false);
        self.syndrome.compute(&self.parity_check, received);
        for check in self.syndrome.violated() {
            self.violated[check] = true;
            for &bit in self.parity_check.row(check) {
                self.energies[bit as usize] += 2 * CHECK;
            }
        }
        self.syndrome.weight() as i32
    }

    /// Chooses all bits of the largest energy for the next flip.
    fn choose(&mut self) {
        self.flips.clear();
        for (largest, chunk) in self.largest.iter_mut().zip(self.energies.chunks(CHUNK)) {
            *largest = chunk.iter().fold(i16::MIN, |largest, &energy| largest.max(energy));
        }
        let largest = self.largest.iter().fold(i16::MIN, |largest, &energy| largest.max(energy));
        for (index, _) in self.largest.iter().enumerate().filter(|&(_, &of_chunk)| of_chunk == largest) {
            let bits = (index * CHUNK) as u32..;
            let energies = self.energies[index * CHUNK..].iter().take(CHUNK);
            self.flips.extend(bits.zip(energies).filter(|&(_, &energy)| energy == largest).map(|(bit, _)| bit));
        }
    }

    /// Reduces the momentum of earlier flips, and gives the new flips theirs.
    fn grow_older(&mut self) {
        let momentum = |age: u8| MOMENTUM.get(age as usize).copied().unwrap_or(0);
        let (ages, energies) = (&mut self.ages, &mut self.energies);
        self.recent.retain(|&bit| {
            let age = &mut ages[bit as usize];
            energies[bit as usize] += momentum(*age) - momentum(*age + 1);
            *age += 1;
            usize::from(*age) < MOMENTUM.len()
        });
        for &bit in &self.flips {
            let age = &mut ages[bit as usize];
            if usize::from(*age) == MOMENTUM.len() {
                self.recent.push(bit);
            }
            energies[bit as usize] -= momentum(0) - momentum(*age);
            *age = 0;
        }
    }
}
