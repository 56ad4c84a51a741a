//! The numbers of the parts of a device. Each is a type of its own, so that a set cannot be taken for a plane; a number costs what an
//! integer costs. A list that has an entry for each part of a kind, such as `TiVec<Set, T>`, is indexed by numbers of this kind alone.

pub use typed_index_collections::{TiSlice, TiVec};

/// Makes types of numbers: `numbers! { /// What it numbers. Set(u32); }`.
#[macro_export]
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $number);

        impl $name {
            /// Returns the number as an index.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns all of a range of numbers, in order.
            #[inline]
            pub fn all(numbers: std::ops::Range<$number>) -> impl DoubleEndedIterator<Item = Self> + Clone {
                numbers.map(Self)
            }

            /// Returns each of a range, in order.
            #[inline]
            pub fn each(range: std::ops::Range<Self>) -> impl DoubleEndedIterator<Item = Self> + Clone {
                Self::all(range.start.0..range.end.0)
            }

            /// Returns the length of a range.
            #[inline]
            pub fn count(range: &std::ops::Range<Self>) -> $number {
                range.end.0 - range.start.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$name> for u64 {
            #[inline]
            fn from(number: $name) -> Self {
                number.0.into()
            }
        }

        impl From<$name> for usize {
            #[inline]
            fn from(number: $name) -> Self {
                number.index()
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(index: usize) -> Self {
                Self(index as $number)
            }
        }
    )*};
}

numbers! {
    /// An SSD of the device.
    Ssd(u32);
    /// A channel, numbered over the device.
    Channel(u32);
    /// A chip, numbered over the device.
    Chip(u32);
    /// A die, numbered over the device.
    Die(u32);
    /// A plane, numbered over the device.
    Plane(u32);
    /// A busy unit: the part that does one array operation at a time, which is a plane, a die, a chip, or all chips of a channel.
    Unit(u32);
    /// Planes whose blocks form superblocks.
    Set(u32);
    /// Blocks that are written, collected and erased together, numbered set by set.
    Superblock(u32);
    /// A block, numbered over the device.
    Block(u32);
    /// A logical codeword.
    Lcn(u64);
    /// A place of a codeword in flash.
    Place(u64);
}
