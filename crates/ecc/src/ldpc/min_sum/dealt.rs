use std::marker::PhantomData;

use super::super::QuasiCyclic;
use super::kernel::Totals;
use super::lanes::{Doubled, Lanes, MOST_LANES, Rotating};
use super::layout::{Layout, Place};
use crate::bits;

/// A-posteriori values of circulants that vectors divide: the bits of a block column are dealt to vectors ([`Layout::dealt`]).
pub(super) struct Dealt<H>(PhantomData<H>);

/// The form in which the a-posteriori values of a vector of bits are held.
pub(super) trait Held<V: Lanes> {
    /// The values of a vector of bits.
    type Stored: Copy + Send;
    /// The values that are kept of a vector of extrinsic values until its message is sent.
    type Kept: Copy + Send;
    /// True if the bits of a vector stay in their order. Otherwise they are left in the order of the checks that met them last.
    const IN_ORDER: bool;
    /// See [`Totals::OFFSET`].
    const OFFSET: i8;

    /// The values for LLRs of the channel.
    fn received(llrs: V) -> Self::Stored;
    /// Subtracts the stored `message` from `total`. Lane `rotation` of the bits belongs to the first check.
    fn gather(total: &mut Self::Stored, rotation: u32, message: V) -> Self::Kept;
    /// The extrinsic values, saturated to eight bits, in the order of the checks.
    fn value(kept: Self::Kept) -> V;
    /// Adds the message that is to be stored as `message`, in the order of the checks, to `total`. Returns it as it is stored.
    fn send(total: &mut Self::Stored, rotation: u32, kept: Self::Kept, message: V) -> V;
    /// Values with the signs of `total`, in the order of the checks.
    fn signs(total: &Self::Stored, rotation: u32) -> V;
}

impl<V: Lanes, H: Held<V>> Totals<V> for Dealt<H> {
    type Stored = H::Stored;
    type Kept = H::Kept;
    const OFFSET: i8 = H::OFFSET;

    fn layout(code: &QuasiCyclic) -> Layout {
        Layout::dealt(code, V::COUNT, H::IN_ORDER)
    }

    fn room(layout: &Layout) -> Vec<H::Stored> {
        vec![H::received(V::splat(0)); layout.columns * layout.vectors]
    }

    fn first_lanes(_: usize) -> V {
        V::splat(-1)
    }

    /// Bit `lane * vectors + vector` of a block column is lane `lane` of vector `vector`. Eight vectors, or all if they are one, two or
    /// four, share a byte of each lane.
    #[inline(always)]
    fn receive_hard(totals: &mut [H::Stored], layout: &Layout, word: &[u8], limit: i8) {
        let Layout { circulant_size: size, vectors, .. } = *layout;
        for (column, totals) in totals.chunks_exact_mut(vectors).enumerate() {
            let mut lanes = [0; MOST_LANES];
            let Some(sharing) = sharing(vectors) else {
                for (vector, total) in totals.iter_mut().enumerate() {
                    for (lane, value) in lanes[..V::COUNT].iter_mut().enumerate() {
                        let bit = bits::get(word, column * size + lane * vectors + vector);
                        *value = if bit { -limit } else { limit };
                    }
                    *total = H::received(V::from_lanes(&lanes));
                }
                continue;
            };
            let packed = &word[column * size / 8..][..size / 8];
            for (group, totals) in totals.chunks_exact_mut(sharing).enumerate() {
                if vectors == 8 {
                    lanes[..V::COUNT].copy_from_slice(bytemuck::cast_slice(packed));
                } else {
                    for (lane, byte) in lanes[..V::COUNT].iter_mut().enumerate() {
                        let bit = lane * vectors + 8 * group;
                        *byte = (packed[bit / 8] << (bit % 8)) as i8;
                    }
                }
                let bytes = V::from_lanes(&lanes);
                for (vector, total) in totals.iter_mut().enumerate() {
                    *total = H::received(V::from_bits(bytes, 0x80 >> vector, limit));
                }
            }
        }
    }

    #[inline(always)]
    fn receive_soft(totals: &mut [H::Stored], layout: &Layout, llrs: &[i8], limit: i8) {
        let Layout { circulant_size: size, vectors, .. } = *layout;
        for (llrs, totals) in llrs.chunks_exact(size).zip(totals.chunks_exact_mut(vectors)) {
            let mut rows = [[0; MOST_LANES]; 8];
            for (vector, total) in totals.iter_mut().enumerate() {
                // Squares of eight lanes and eight vectors are transposed at once, where they are whole.
                if vectors % 8 == 0 && vector % 8 == 0 {
                    for (square, llrs) in llrs.chunks_exact(8 * vectors).enumerate() {
                        let mut lanes = [0; 8];
                        for (lane, llrs) in lanes.iter_mut().zip(llrs.chunks_exact(vectors)) {
                            *lane = u64::from_le_bytes(bytemuck::cast(
                                *llrs[vector..].first_chunk::<8>().expect("8 vectors"),
                            ));
                        }
                        for (row, lanes) in rows.iter_mut().zip(transpose(lanes)) {
                            row[8 * square..][..8].copy_from_slice(bytemuck::cast_slice(&lanes.to_le_bytes()));
                        }
                    }
                } else if vectors % 8 != 0 {
                    let (row, llrs) = (&mut rows[vector % 8][..V::COUNT], &llrs[vector..]);
                    match vectors {
                        1 => row.copy_from_slice(llrs),
                        2 => every::<2>(llrs, row),
                        4 => every::<4>(llrs, row),
                        _ => {
                            for (lane, llr) in row.iter_mut().zip(llrs.iter().step_by(vectors)) {
                                *lane = *llr;
                            }
                        }
                    }
                }
                let lanes = rows[vector % 8].map(|llr: i8| llr.clamp(-limit, limit));
                *total = H::received(V::from_lanes(&lanes));
            }
        }
    }

    #[inline(always)]
    fn gather(totals: &mut [H::Stored], place: Place, message: V) -> H::Kept {
        H::gather(stored_mut(totals, place), place.rotation(), message)
    }

    #[inline(always)]
    fn value(kept: H::Kept) -> V {
        H::value(kept)
    }

    #[inline(always)]
    fn send(totals: &mut [H::Stored], place: Place, _: usize, kept: H::Kept, message: V) -> V {
        H::send(stored_mut(totals, place), place.rotation(), kept, message)
    }

    #[inline(always)]
    fn signs(totals: &[H::Stored], place: Place) -> V {
        H::signs(stored(totals, place), place.rotation())
    }

    #[inline(always)]
    fn report(totals: &[H::Stored], layout: &Layout, stage: usize, word: &mut [u8]) {
        let Layout { circulant_size: size, vectors, .. } = *layout;
        for (column, places) in layout.stages[stage].bits.chunks_exact(vectors).enumerate() {
            let Some(sharing) = sharing(vectors) else {
                for (vector, &place) in places.iter().enumerate() {
                    let signs = Self::signs(totals, place);
                    for (lane, value) in signs.lanes()[..V::COUNT].iter().enumerate() {
                        bits::set(word, column * size + lane * vectors + vector, *value < 0);
                    }
                }
                continue;
            };
            let packed = &mut word[column * size / 8..][..size / 8];
            packed.fill(0);
            for (group, places) in places.chunks_exact(sharing).enumerate() {
                let mut bytes = V::splat(0);
                for (vector, &place) in places.iter().enumerate() {
                    let signs = Self::signs(totals, place);
                    bytes = signs.collect_signs(0x80 >> vector, bytes);
                }
                let bytes = bytes.lanes();
                if vectors == 8 {
                    packed.copy_from_slice(bytemuck::cast_slice(&bytes[..V::COUNT]));
                } else {
                    for (lane, &byte) in bytes[..V::COUNT].iter().enumerate() {
                        let bit = lane * vectors + 8 * group;
                        packed[bit / 8] |= byte as u8 >> (bit % 8);
                    }
                }
            }
        }
    }
}

/// Values of eight bits, as wide as messages: a value that does not fit is the largest that does.
pub(super) struct Narrow;

impl<V: Lanes> Held<V> for Narrow {
    type Stored = V::Stored;
    type Kept = V;
    const IN_ORDER: bool = false;
    const OFFSET: i8 = 0;

    #[inline(always)]
    fn received(llrs: V) -> V::Stored {
        llrs.store()
    }

    #[inline(always)]
    fn gather(total: &mut V::Stored, rotation: u32, message: V) -> V {
        V::load(total, rotation).subtract_saturating(message)
    }

    #[inline(always)]
    fn value(kept: V) -> V {
        kept
    }

    #[inline(always)]
    fn send(total: &mut V::Stored, _: u32, kept: V, message: V) -> V {
        *total = kept.add_saturating(message).store();
        message
    }

    #[inline(always)]
    fn signs(total: &V::Stored, rotation: u32) -> V {
        V::load(total, rotation)
    }
}

/// The offset of stored messages beside totals of 16 bits, which have the same offset: messages are then widened without a sign.
pub(super) const WIDE_OFFSET: i8 = i8::MIN;

/// Values of sixteen bits, stored so that any rotation can be read.
pub(super) struct Wide;

impl<V: Doubled> Held<V> for Wide {
    type Stored = V::StoredWide;
    type Kept = V::Wide;
    const IN_ORDER: bool = false;
    const OFFSET: i8 = WIDE_OFFSET;

    #[inline(always)]
    fn received(llrs: V) -> V::StoredWide {
        V::store_wide(V::add_wide(llrs.widen_in_order(), V::splat(WIDE_OFFSET)))
    }

    #[inline(always)]
    fn gather(total: &mut V::StoredWide, rotation: u32, message: V) -> V::Wide {
        V::subtract_wide(V::load_wide(total, rotation), message)
    }

    #[inline(always)]
    fn value(kept: V::Wide) -> V {
        V::narrow(kept)
    }

    #[inline(always)]
    fn send(total: &mut V::StoredWide, _: u32, kept: V::Wide, message: V) -> V {
        *total = V::store_wide(V::add_wide(kept, message));
        message
    }

    #[inline(always)]
    fn signs(total: &V::StoredWide, rotation: u32) -> V {
        V::narrow_in_order(V::subtract_wide(V::load_wide(total, rotation), V::splat(WIDE_OFFSET)))
    }
}

/// Values of sixteen bits that stay in their order. Messages, which are half as wide, are rotated instead, to the checks and back.
pub(super) struct WideInOrder;

impl<V: Rotating> Held<V> for WideInOrder {
    type Stored = V::Wide;
    type Kept = V;
    const IN_ORDER: bool = true;
    const OFFSET: i8 = WIDE_OFFSET;

    #[inline(always)]
    fn received(llrs: V) -> V::Wide {
        V::add_wide(llrs.widen(), V::splat(WIDE_OFFSET))
    }

    /// Leaves the extrinsic values in `total`.
    #[inline(always)]
    fn gather(total: &mut V::Wide, rotation: u32, message: V) -> V {
        *total = V::subtract_wide(*total, message);
        V::narrow(*total).rotate(rotation)
    }

    #[inline(always)]
    fn value(kept: V) -> V {
        kept
    }

    #[inline(always)]
    fn send(total: &mut V::Wide, rotation: u32, _: V, message: V) -> V {
        let message = message.rotate(V::COUNT as u32 - rotation);
        *total = V::add_wide(*total, message);
        message
    }

    #[inline(always)]
    fn signs(total: &V::Wide, rotation: u32) -> V {
        V::narrow(V::subtract_wide(*total, V::splat(WIDE_OFFSET))).rotate(rotation)
    }
}

/// The number of vectors that share a byte of a lane in packed words; `None` if bytes go across lanes.
#[inline(always)]
fn sharing(vectors: usize) -> Option<usize> {
    if vectors.is_multiple_of(8) || 8 % vectors == 0 { Some(vectors.min(8)) } else { None }
}

/// Copies every `DISTANCE`-th ratio. At a constant distance the compiler takes many at once.
#[inline(always)]
fn every<const DISTANCE: usize>(llrs: &[i8], lanes: &mut [i8]) {
    let llrs = &llrs[..(lanes.len() - 1) * DISTANCE + 1];
    for lane in 0..lanes.len() {
        lanes[lane] = llrs[lane * DISTANCE];
    }
}

/// Transposes a square of bytes: byte `j` of word `i` becomes byte `i` of word `j`.
#[inline(always)]
fn transpose(mut words: [u64; 8]) -> [u64; 8] {
    // Distances are constants, so that every loop is unrolled.
    #[inline(always)]
    fn exchange<const DISTANCE: usize>(words: &mut [u64; 8], mask: u64) {
        for index in 0..8 {
            if index & DISTANCE == 0 {
                let differing = (words[index] >> (8 * DISTANCE) ^ words[index + DISTANCE]) & mask;
                words[index + DISTANCE] ^= differing;
                words[index] ^= differing << (8 * DISTANCE);
            }
        }
    }
    exchange::<4>(&mut words, 0x0000_0000_ffff_ffff);
    exchange::<2>(&mut words, 0x0000_ffff_0000_ffff);
    exchange::<1>(&mut words, 0x00ff_00ff_00ff_00ff);
    words
}

/// The vector at a place. Bounds were checked when the layout was made; checking again took 3 % of a decoder's time.
#[inline(always)]
#[allow(unsafe_code)]
fn stored<S>(totals: &[S], place: Place) -> &S {
    debug_assert!(place.slot() < totals.len());
    // SAFETY: `Layout::dealt` makes places of slots below columns * vectors, and `Dealt::room` has as many totals.
    unsafe { totals.get_unchecked(place.slot()) }
}

/// The vector at a place, to be written; see [`stored`].
#[inline(always)]
#[allow(unsafe_code)]
fn stored_mut<S>(totals: &mut [S], place: Place) -> &mut S {
    debug_assert!(place.slot() < totals.len());
    // SAFETY: as in `stored`.
    unsafe { totals.get_unchecked_mut(place.slot()) }
}
