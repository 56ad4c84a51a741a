use std::collections::BTreeMap;

use softsense_base::Result;
use softsense_config::ids::Lcn;
use softsense_config::spec::Eviction;
use softsense_link::MAX_LEVEL;

use super::large_array::LargeArray;

const NONE: u32 = u32::MAX;

/// The number of lists: one of spared entries, then one for each level of the other entries.
const LISTS: usize = MAX_LEVEL as usize + 1;
const SPARED: usize = 0;

/// The map entries that a demand-based FTL has at hand, in order of use, each with a read level.
///
/// Some entries are *spared*: they are evicted only when there are no others.
///
/// - With eviction by level, the fixed entries are spared: those used last.
/// - With segmented LRU, the protected entries are spared: of the entries that were used more than once, those used last.
/// - With LRU all entries are spared, which has the same effect as none.
///
/// With eviction by level the other entries are in a list for each level. The least recent entry of the lowest level is found without a
/// scan, so every operation takes O(levels). An entry that is not spared and whose level changes is inserted by its time of use, in
/// O(log n). This happens when garbage collection moves data that has not been used for long.
///
/// Source: Y. Du et al., "LaLDPC", MSST 2017, algorithm 1; A. Gupta, Y. Kim, B. Urgaonkar, "DFTL", ASPLOS 2009; segmented LRU:
/// R. Karedla, J. S. Love, B. G. Wherry, "Caching strategies to improve disk system performance", Computer 1994.
#[derive(Debug)]
pub struct MappingCache {
    capacity: u32,
    /// The greatest number of spared entries.
    spared: u32,
    /// Whether an entry is spared from its first use on, or only from its second.
    spares_new: bool,
    by_level: bool,
    /// For each logical codeword, 1 plus the slot of its entry; 0 if it has no entry.
    slots: LargeArray,
    entries: Vec<Entry>,
    lists: [List; LISTS],
    /// For each level, entries that came to it out of order, by time of use.
    displaced: [BTreeMap<u64, u32>; LISTS],
    /// Codewords whose entries share a translation page.
    per_page: u32,
    /// For each translation page, the first of its dirty entries.
    dirty: Vec<u32>,
    uses: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    lcn: Lcn,
    used: u64,
    /// Reads that succeeded at once at this level, since the level was set.
    successes: u32,
    level: u8,
    list: u8,
    displaced: bool,
    dirty: bool,
    newer: u32,
    older: u32,
    dirty_before: u32,
    dirty_after: u32,
}

#[derive(Debug, Clone, Copy)]
struct List {
    newest: u32,
    oldest: u32,
    count: u32,
}

/// An entry that was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// The logical codeword of the entry.
    pub lcn: Lcn,
    /// Whether the entry had changed since its translation page was written.
    pub dirty: bool,
    /// The read level that is forgotten with the entry.
    pub level: u8,
}

impl MappingCache {
    /// An empty cache of `capacity` entries of `codewords` logical codewords, `per_page` to a translation page.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new(capacity: u32, eviction: Eviction, codewords: u64, per_page: u32) -> Result<Self> {
        assert!(capacity > 0 && per_page > 0);
        Ok(Self {
            capacity,
            spared: match eviction {
                Eviction::Lru => u32::MAX,
                Eviction::SegmentedLru { protected_entries } => protected_entries,
                Eviction::LowestLevel { fixed_entries } => fixed_entries,
            },
            spares_new: !matches!(eviction, Eviction::SegmentedLru { .. }),
            by_level: matches!(eviction, Eviction::LowestLevel { .. }),
            slots: LargeArray::new(codewords, u64::from(capacity))?.accessed_all_over(),
            entries: Vec::new(),
            lists: [List { newest: NONE, oldest: NONE, count: 0 }; LISTS],
            displaced: Default::default(),
            per_page,
            dirty: vec![NONE; codewords.div_ceil(per_page.into()) as usize],
            uses: 0,
        })
    }

    /// The number of entries at hand.
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Whether no entry is at hand.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Asks the CPU to fetch the slot of a codeword's entry, which will be needed soon.
    #[inline]
    pub fn prefetch(&self, lcn: Lcn) {
        self.slots.prefetch(lcn.0);
    }

    #[inline]
    fn slot(&self, lcn: Lcn) -> u32 {
        // A stored 0 becomes `NONE`.
        (self.slots.get(lcn.0) as u32).wrapping_sub(1)
    }

    /// The read level of a codeword whose entry is at hand.
    #[inline]
    pub fn level(&self, lcn: Lcn) -> Option<u8> {
        let slot = self.slot(lcn);
        (slot != NONE).then(|| self.entries[slot as usize].level)
    }

    /// Whether the entry of a codeword is at hand and has changed.
    pub fn is_dirty(&self, lcn: Lcn) -> bool {
        let slot = self.slot(lcn);
        slot != NONE && self.entries[slot as usize].dirty
    }

    /// Marks the entry of a codeword as used last; false if it is not at hand.
    #[inline]
    pub fn touch(&mut self, lcn: Lcn) -> bool {
        let slot = self.slot(lcn);
        if slot == NONE {
            return false;
        }
        self.detach(slot);
        self.put_first(slot, true);
        true
    }

    /// Adds an entry that is not at hand, as the one used last, and returns the entry that was evicted for it.
    pub fn insert(&mut self, lcn: Lcn, level: u8) -> Option<Evicted> {
        debug_assert!(self.slot(lcn) == NONE && (1..=MAX_LEVEL).contains(&level));
        let entry = Entry {
            lcn,
            used: 0,
            successes: 0,
            level,
            list: 0,
            displaced: false,
            dirty: false,
            newer: NONE,
            older: NONE,
            dirty_before: NONE,
            dirty_after: NONE,
        };
        if self.len() < self.capacity {
            let slot = self.len();
            self.entries.push(entry);
            self.slots.set(lcn.0, u64::from(slot) + 1);
            self.put_first(slot, self.spares_new);
            return None;
        }
        let slot = self.victim();
        let Entry { lcn: gone, dirty, level, .. } = self.entries[slot as usize];
        self.clean(slot);
        self.detach(slot);
        self.slots.set(gone.0, 0);
        self.entries[slot as usize] = entry;
        self.slots.set(lcn.0, u64::from(slot) + 1);
        self.put_first(slot, self.spares_new);
        Some(Evicted { lcn: gone, dirty, level })
    }

    /// Notes that an entry has changed; false if it is not at hand.
    #[inline]
    pub fn mark_dirty(&mut self, lcn: Lcn) -> bool {
        let slot = self.slot(lcn);
        if slot == NONE {
            return false;
        }
        if !self.entries[slot as usize].dirty {
            let page = (lcn.0 / u64::from(self.per_page)) as usize;
            let after = std::mem::replace(&mut self.dirty[page], slot);
            if after != NONE {
                self.entries[after as usize].dirty_before = slot;
            }
            let entry = &mut self.entries[slot as usize];
            (entry.dirty, entry.dirty_before, entry.dirty_after) = (true, NONE, after);
        }
        true
    }

    /// Notes that a codeword has been read at `level`, which is remembered if its entry is at hand. After `lower_after` reads
    /// that succeeded `at_once` at the remembered level, with no other level remembered in between, one level less is remembered. A
    /// `lower_after` of 0 means never.
    #[inline]
    pub fn read_ended(&mut self, lcn: Lcn, level: u8, at_once: bool, lower_after: u32) {
        let slot = self.slot(lcn);
        if slot == NONE {
            return;
        }
        let entry = &mut self.entries[slot as usize];
        let lower = at_once && entry.level == level && level > 1 && lower_after > 0 && {
            entry.successes += 1;
            entry.successes >= lower_after
        };
        self.set_level(lcn, if lower { level - 1 } else { level });
    }

    /// Remembers a read level, if the entry is at hand. This is no use of the entry.
    #[inline]
    pub fn set_level(&mut self, lcn: Lcn, level: u8) {
        let slot = self.slot(lcn);
        if slot == NONE || self.entries[slot as usize].level == level {
            return;
        }
        if self.by_level && usize::from(self.entries[slot as usize].list) != SPARED {
            self.detach(slot);
            let entry = &mut self.entries[slot as usize];
            (entry.list, entry.displaced) = (level, true);
            self.displaced[usize::from(level)].insert(entry.used, slot);
        }
        let entry = &mut self.entries[slot as usize];
        (entry.level, entry.successes) = (level, 0);
    }

    /// Notes that a translation page has been written with all its entries. Returns how many of them had changed.
    pub fn clean_page(&mut self, page: u32) -> u32 {
        let mut cleaned = 0;
        while self.dirty[page as usize] != NONE {
            self.clean(self.dirty[page as usize]);
            cleaned += 1;
        }
        cleaned
    }

    fn clean(&mut self, slot: u32) {
        let Entry { lcn, dirty, dirty_before, dirty_after, .. } = self.entries[slot as usize];
        if !dirty {
            return;
        }
        match dirty_before {
            NONE => self.dirty[(lcn.0 / u64::from(self.per_page)) as usize] = dirty_after,
            before => self.entries[before as usize].dirty_after = dirty_after,
        }
        if dirty_after != NONE {
            self.entries[dirty_after as usize].dirty_before = dirty_before;
        }
        self.entries[slot as usize].dirty = false;
    }

    /// The least recent entry of the lowest level among entries that are not spared. If all are spared, the least recent entry.
    fn victim(&self) -> u32 {
        for level in 1..LISTS {
            let in_order = self.lists[level].oldest;
            let displaced = self.displaced[level].first_key_value();
            match (in_order, displaced) {
                (NONE, None) => {}
                (NONE, Some((_, &slot))) => return slot,
                (slot, None) => return slot,
                (slot, Some((&used, &other))) => {
                    return if self.entries[slot as usize].used < used { slot } else { other };
                }
            }
        }
        self.lists[SPARED].oldest
    }

    /// Makes an entry that is in no list the one used last, spared or not. The least recently used spared entry may lose its place among
    /// the spared ones for it.
    #[inline]
    fn put_first(&mut self, slot: u32, spare: bool) {
        self.uses += 1;
        self.entries[slot as usize].used = self.uses;
        if !spare {
            return self.push(slot, self.list_of_others(slot));
        }
        self.push(slot, SPARED);
        if self.lists[SPARED].count > self.spared {
            let oldest = self.lists[SPARED].oldest;
            self.detach(oldest);
            self.push(oldest, self.list_of_others(oldest));
        }
    }

    /// The list for an entry when it is not spared.
    #[inline]
    fn list_of_others(&self, slot: u32) -> usize {
        if self.by_level { usize::from(self.entries[slot as usize].level) } else { 1 }
    }

    /// Puts an entry at the head of a list.
    #[inline]
    fn push(&mut self, slot: u32, list: usize) {
        let List { newest, .. } = self.lists[list];
        let entry = &mut self.entries[slot as usize];
        (entry.list, entry.displaced, entry.newer, entry.older) = (list as u8, false, NONE, newest);
        match newest {
            NONE => self.lists[list].oldest = slot,
            newest => self.entries[newest as usize].newer = slot,
        }
        self.lists[list].newest = slot;
        self.lists[list].count += 1;
    }

    #[inline]
    fn detach(&mut self, slot: u32) {
        let Entry { list, displaced, newer, older, used, .. } = self.entries[slot as usize];
        if displaced {
            self.displaced[usize::from(list)].remove(&used);
            return;
        }
        let list = &mut self.lists[usize::from(list)];
        match newer {
            NONE => list.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => list.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        list.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A model of the cache that follows the papers: lists in order of use, which are scanned.
    struct Scanned {
        capacity: usize,
        eviction: Eviction,
        /// Entries as codeword, level and dirty, the one used last first. With segmented LRU, only entries that are not protected.
        entries: Vec<(Lcn, u8, bool)>,
        protected: Vec<(Lcn, u8, bool)>,
    }

    impl Scanned {
        fn find(&mut self, lcn: Lcn) -> Option<&mut (Lcn, u8, bool)> {
            self.entries.iter_mut().chain(&mut self.protected).find(|entry| entry.0 == lcn)
        }

        fn touch(&mut self, lcn: Lcn) {
            let list = if self.entries.iter().any(|e| e.0 == lcn) { &mut self.entries } else { &mut self.protected };
            let entry = list.remove(list.iter().position(|e| e.0 == lcn).unwrap());
            let Eviction::SegmentedLru { protected_entries } = self.eviction else {
                return self.entries.insert(0, entry);
            };
            self.protected.insert(0, entry);
            if self.protected.len() > protected_entries as usize {
                self.entries.insert(0, self.protected.pop().unwrap());
            }
        }

        fn insert(&mut self, lcn: Lcn, level: u8) -> Option<Evicted> {
            let gone = (self.entries.len() + self.protected.len() == self.capacity).then(|| {
                // Algorithm 1 of LaLDPC: the last entry of the lowest level outside the fixed ones.
                let fixed = match self.eviction {
                    Eviction::LowestLevel { fixed_entries } => fixed_entries as usize,
                    Eviction::Lru | Eviction::SegmentedLru { .. } => 0,
                };
                let by_level = matches!(self.eviction, Eviction::LowestLevel { .. }) && fixed < self.entries.len();
                let lowest = self.entries.iter().skip(fixed).map(|entry| entry.1).min();
                let (lcn, level, dirty) = match self.entries.iter().rposition(|e| !by_level || Some(e.1) == lowest) {
                    Some(at) => self.entries.remove(at),
                    None => self.protected.pop().unwrap(),
                };
                Evicted { lcn, level, dirty }
            });
            self.entries.insert(0, (lcn, level, false));
            gone
        }
    }

    fn evictions() -> impl Strategy<Value = Eviction> {
        prop_oneof![
            Just(Eviction::Lru),
            (0u32..30).prop_map(|protected_entries| Eviction::SegmentedLru { protected_entries }),
            (0u32..30).prop_map(|fixed_entries| Eviction::LowestLevel { fixed_entries }),
        ]
    }

    #[derive(Debug, Clone)]
    enum Step {
        Use(Lcn, u8),
        Dirty(Lcn),
        Level(Lcn, u8),
        Clean(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let lcn = (0u64..48).prop_map(Lcn);
        let step = prop_oneof![
            6 => (lcn.clone(), 1..=MAX_LEVEL).prop_map(|(lcn, level)| Step::Use(lcn, level)),
            2 => lcn.clone().prop_map(Step::Dirty),
            3 => (lcn, 1..=MAX_LEVEL).prop_map(|(lcn, level)| Step::Level(lcn, level)),
            1 => (0..6u32).prop_map(Step::Clean),
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        /// Is every eviction the one that a scan finds, entry by entry, whichever entries are spared?
        #[test]
        fn evictions_are_those_of_a_scan(steps in steps(), capacity in 1u32..24, eviction in evictions()) {
            let mut cache = MappingCache::new(capacity, eviction, 48, 8).unwrap();
            let (entries, protected) = (Vec::new(), Vec::new());
            let mut scanned = Scanned { capacity: capacity as usize, eviction, entries, protected };
            for step in steps {
                match step {
                    Step::Use(lcn, level) if scanned.find(lcn).is_none() => {
                        prop_assert!(!cache.touch(lcn));
                        prop_assert_eq!(cache.insert(lcn, level), scanned.insert(lcn, level));
                    }
                    Step::Use(lcn, _) => {
                        scanned.touch(lcn);
                        prop_assert!(cache.touch(lcn));
                    }
                    Step::Dirty(lcn) => {
                        prop_assert_eq!(cache.mark_dirty(lcn), scanned.find(lcn).is_some());
                        if let Some(entry) = scanned.find(lcn) { entry.2 = true; }
                    }
                    Step::Level(lcn, level) => {
                        cache.set_level(lcn, level);
                        if let Some(entry) = scanned.find(lcn) { entry.1 = level; }
                    }
                    Step::Clean(page) => {
                        let mut cleaned = 0;
                        for entry in scanned.entries.iter_mut().chain(&mut scanned.protected) {
                            if entry.0.0 / 8 == u64::from(page) && std::mem::take(&mut entry.2) { cleaned += 1; }
                        }
                        prop_assert_eq!(cache.clean_page(page), cleaned);
                    }
                }
                prop_assert!(cache.len() <= capacity);
                for lcn in Lcn::all(0..48) {
                    let expected = scanned.find(lcn).map(|entry| *entry);
                    prop_assert_eq!(cache.level(lcn), expected.map(|entry| entry.1));
                    prop_assert_eq!(cache.is_dirty(lcn), expected.is_some_and(|entry| entry.2));
                }
            }
        }
    }
}
