//! The devices of a trace: their numbers and names, and which of them are replayed.

use std::collections::HashMap;

use super::super::Devices;

/// The largest number of devices in one trace; more means that the device column is not one.
const MAX_DEVICES: usize = 65_536;

/// A device of a trace, as its column names it.
#[derive(Debug, Clone)]
pub(in super::super) struct Device {
    pub number: u32,
    pub name: String,
}

/// A map from device numbers and names to slots. In the common case, the same device as on the line before, it takes one comparison.
pub(in super::super) struct DeviceTable {
    pub devices: Vec<Device>,
    /// Whether requests of each slot are replayed (`Devices::Only` and others).
    pub included: Vec<bool>,
    chosen: Devices,
    small: Vec<u32>,
    large: HashMap<u32, u32>,
    names: HashMap<Box<[u8]>, u32>,
    last_name: Vec<u8>,
    last_number: u32,
    last_slot: u32,
}

impl DeviceTable {
    pub(crate) fn new(devices: &Devices) -> Self {
        Self {
            devices: Vec::new(),
            included: Vec::new(),
            chosen: devices.clone(),
            small: Vec::new(),
            large: HashMap::new(),
            names: HashMap::new(),
            last_name: Vec::new(),
            last_number: 0,
            last_slot: u32::MAX,
        }
    }

    pub(crate) fn full(&self) -> bool {
        self.devices.len() >= MAX_DEVICES
    }

    #[inline(always)]
    pub(super) fn by_number(&mut self, number: u32) -> Option<u32> {
        if number == self.last_number && self.last_slot != u32::MAX {
            return Some(self.last_slot);
        }
        if let Some(&slot) = self.small.get(number as usize)
            && slot != u32::MAX
        {
            (self.last_number, self.last_slot) = (number, slot);
            return Some(slot);
        }
        self.by_number_slow(number)
    }

    #[cold]
    fn by_number_slow(&mut self, number: u32) -> Option<u32> {
        let slot = match self.large.get(&number) {
            Some(&slot) => slot,
            None => {
                let slot = self.add(number, String::new())?;
                if (number as usize) < 4096 {
                    if self.small.len() <= number as usize {
                        self.small.resize(number as usize + 1, u32::MAX);
                    }
                    self.small[number as usize] = slot;
                } else {
                    self.large.insert(number, slot);
                }
                slot
            }
        };
        (self.last_number, self.last_slot) = (number, slot);
        Some(slot)
    }

    /// Returns the slot of a name. `describe` turns a new name into its number and its name for people.
    #[inline(always)]
    pub(super) fn by_name(
        &mut self,
        key: &[u8],
        describe: impl FnOnce(&[u8], usize) -> Option<(u32, String)>,
    ) -> Option<u32> {
        if key == self.last_name.as_slice() && self.last_slot != u32::MAX {
            return Some(self.last_slot);
        }
        self.by_name_slow(key, describe)
    }

    fn by_name_slow(
        &mut self,
        key: &[u8],
        describe: impl FnOnce(&[u8], usize) -> Option<(u32, String)>,
    ) -> Option<u32> {
        let slot = match self.names.get(key) {
            Some(&slot) => slot,
            None => {
                let (number, name) = describe(key, self.devices.len())?;
                // The device may be known from a name with other blanks.
                let known = self.devices.iter().position(|device| device.number == number && device.name == name);
                let slot = match known {
                    Some(slot) => slot as u32,
                    None => self.add(number, name)?,
                };
                self.names.insert(key.into(), slot);
                slot
            }
        };
        self.last_name.clear();
        self.last_name.extend_from_slice(key);
        self.last_slot = slot;
        Some(slot)
    }

    fn add(&mut self, number: u32, name: String) -> Option<u32> {
        if self.full() {
            return None;
        }
        self.included.push(self.chosen.include(number, &name));
        self.devices.push(Device { number, name });
        Some(self.devices.len() as u32 - 1)
    }
}
