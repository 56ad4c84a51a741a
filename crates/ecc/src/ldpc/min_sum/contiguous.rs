use std::marker::PhantomData;

use super::super::QuasiCyclic;
use super::dealt::WIDE_OFFSET;
use super::kernel::Totals;
use super::lanes::{Lanes, MOST_LANES};
use super::layout::{Layout, Place};
use crate::bits;

/// A-posteriori values of circulants of any size. They lie as in the word ([`Layout::contiguous`]), and vectors are read and written
/// wherever a shift lets them begin.
pub(super) struct Contiguous<T>(PhantomData<T>);

/// An a-posteriori value of a bit.
pub(super) trait Value<V: Lanes>: Copy + Send {
    /// The values of a vector of bits.
    type Vector: Copy + Send;
    /// See [`Totals::OFFSET`].
    const OFFSET: i8;

    /// The value for an LLR of the channel.
    fn received(llr: i8) -> Self;
    /// The value as an integer.
    fn posterior(self) -> i16;
    /// A vector of messages in the order of the checks.
    fn messages(message: V) -> [i8; MOST_LANES];
    fn read(from: &[Self; MOST_LANES]) -> Self::Vector;
    fn write(vector: Self::Vector, to: &mut [Self; MOST_LANES]);
    /// Subtracts the stored `message` from the vector.
    fn subtract(vector: Self::Vector, message: V) -> Self::Vector;
    /// Adds the stored `message` to the vector.
    fn add(vector: Self::Vector, message: V) -> Self::Vector;
    /// Saturates the vector to eight bits.
    fn narrow(vector: Self::Vector) -> V;
}

impl<V: Lanes> Value<V> for i8 {
    type Vector = V;
    const OFFSET: i8 = 0;

    #[inline(always)]
    fn received(llr: i8) -> i8 {
        llr
    }

    #[inline(always)]
    fn posterior(self) -> i16 {
        self.into()
    }

    fn messages(message: V) -> [i8; MOST_LANES] {
        message.lanes()
    }

    #[inline(always)]
    fn read(from: &[i8; MOST_LANES]) -> V {
        V::from_lanes(from)
    }

    #[inline(always)]
    fn write(vector: V, to: &mut [i8; MOST_LANES]) {
        vector.write(to);
    }

    #[inline(always)]
    fn subtract(vector: V, message: V) -> V {
        vector.subtract_saturating(message)
    }

    #[inline(always)]
    fn add(vector: V, message: V) -> V {
        vector.add_saturating(message)
    }

    #[inline(always)]
    fn narrow(vector: V) -> V {
        vector
    }
}

impl<V: Lanes> Value<V> for i16 {
    type Vector = V::Wide;
    const OFFSET: i8 = WIDE_OFFSET;

    #[inline(always)]
    fn received(llr: i8) -> i16 {
        i16::from(llr) + i16::from(WIDE_OFFSET as u8)
    }

    #[inline(always)]
    fn posterior(self) -> i16 {
        // The largest totals of the heaviest columns have wrapped.
        self.wrapping_sub(i16::from(WIDE_OFFSET as u8))
    }

    fn messages(message: V) -> [i8; MOST_LANES] {
        let mut lanes = [0; MOST_LANES];
        V::write_wide(message.widen(), &mut lanes);
        lanes.map(|lane| lane as i8)
    }

    #[inline(always)]
    fn read(from: &[i16; MOST_LANES]) -> V::Wide {
        V::read_wide(from)
    }

    #[inline(always)]
    fn write(vector: V::Wide, to: &mut [i16; MOST_LANES]) {
        V::write_wide(vector, to);
    }

    #[inline(always)]
    fn subtract(vector: V::Wide, message: V) -> V::Wide {
        V::subtract_wide(vector, message)
    }

    #[inline(always)]
    fn add(vector: V::Wide, message: V) -> V::Wide {
        V::add_wide(vector, message)
    }

    #[inline(always)]
    fn narrow(vector: V::Wide) -> V {
        V::narrow(vector)
    }
}

impl<V: Lanes, T: Value<V>> Totals<V> for Contiguous<T> {
    type Stored = T;
    type Kept = T::Vector;
    const OFFSET: i8 = T::OFFSET;

    fn layout(code: &QuasiCyclic) -> Layout {
        Layout::contiguous(code, V::COUNT)
    }

    fn room(layout: &Layout) -> Vec<T> {
        vec![T::received(0); layout.contiguous_values(V::COUNT)]
    }

    fn first_lanes(active: usize) -> V {
        // The lanes are in the order that a vector of values has when it is read.
        let lanes = std::array::from_fn(|lane| T::received(-i8::from(lane < active)));
        T::narrow(T::subtract(T::read(&lanes), V::splat(T::OFFSET)))
    }

    #[inline(always)]
    fn receive_hard(totals: &mut [T], layout: &Layout, word: &[u8], limit: i8) {
        let values = [limit, -limit].map(T::received);
        let mut bit = 0;
        for column in layout.contiguous_columns(V::COUNT) {
            for total in &mut totals[column] {
                *total = values[usize::from(bits::get(word, bit))];
                bit += 1;
            }
        }
        repeat_first::<V, T>(totals, layout);
    }

    #[inline(always)]
    fn receive_soft(totals: &mut [T], layout: &Layout, llrs: &[i8], limit: i8) {
        for (column, llrs) in layout.contiguous_columns(V::COUNT).zip(llrs.chunks_exact(layout.circulant_size)) {
            for (total, &llr) in totals[column].iter_mut().zip(llrs) {
                *total = T::received(llr.clamp(-limit, limit));
            }
        }
        repeat_first::<V, T>(totals, layout);
    }

    #[inline(always)]
    fn gather(totals: &mut [T], place: Place, message: V) -> T::Vector {
        T::subtract(T::read(vector_at(totals, place.start())), message)
    }

    #[inline(always)]
    fn value(kept: T::Vector) -> V {
        T::narrow(kept)
    }

    /// Lanes beyond the last check write values that are overwritten, or that were there before: vectors are written in the order of their
    /// places.
    #[inline(always)]
    fn send(totals: &mut [T], place: Place, size: usize, kept: T::Vector, message: V) -> V {
        let (total, start) = (T::add(kept, message), place.start());
        if place.wraps() {
            T::write(total, vector_at_mut(totals, start - size));
        }
        T::write(total, vector_at_mut(totals, start));
        if place.repeats() {
            T::write(total, vector_at_mut(totals, start + size));
        }
        message
    }

    #[inline(always)]
    fn signs(totals: &[T], place: Place) -> V {
        T::narrow(T::subtract(T::read(vector_at(totals, place.start())), V::splat(T::OFFSET)))
    }

    fn in_order(totals: &[T], layout: &Layout) -> Option<Vec<i16>> {
        let columns = layout.contiguous_columns(V::COUNT);
        Some(columns.flat_map(|column| totals[column].iter().map(|total| total.posterior())).collect())
    }

    fn messages(message: V) -> [i8; MOST_LANES] {
        T::messages(message)
    }

    #[inline(always)]
    fn report(totals: &[T], layout: &Layout, _: usize, word: &mut [u8]) {
        word.fill(0);
        let mut bit = 0;
        for column in layout.contiguous_columns(V::COUNT) {
            for total in &totals[column] {
                word[bit / 8] |= u8::from(total.posterior() < 0) << (7 - bit % 8);
                bit += 1;
            }
        }
    }
}

/// Writes the first values of each block column again, after its last value.
#[inline(always)]
fn repeat_first<V: Lanes, T: Value<V>>(totals: &mut [T], layout: &Layout) {
    for column in layout.contiguous_columns(V::COUNT) {
        for index in column.start..column.start + V::COUNT {
            totals[index + layout.circulant_size] = totals[index];
        }
    }
}

#[inline(always)]
fn vector_at<T>(totals: &[T], start: usize) -> &[T; MOST_LANES] {
    totals[start..].first_chunk().expect("room for a vector behind each place")
}

#[inline(always)]
fn vector_at_mut<T>(totals: &mut [T], start: usize) -> &mut [T; MOST_LANES] {
    totals[start..].first_chunk_mut().expect("room for a vector behind each place")
}
