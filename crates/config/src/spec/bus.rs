use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Timing of the channel buses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BusSpec {
    /// Time to transfer one codeword, as hard decisions or to be programmed, us.
    pub transfer_us: f64,
    /// Time to transfer the data that one extra level adds to a codeword, us.
    pub transfer_extra_level_us: f64,
    /// Time of the command and address cycles of a sensing, a program or an erase, us. The bus carries them before the array begins. With
    /// 0 they take no time.
    pub command_us: f64,
    /// The kind of waiting operation that a bus serves first.
    pub first: BusFirst,
}

/// The kind of waiting operation that a bus serves first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusFirst {
    /// The operation that has waited longest.
    #[default]
    FirstCome,
    /// Commands of sensings and erases, so that arrays work while other operations wait with their data.
    Commands,
    /// Data that was read: no array of a channel gets a command while another array has data to transfer.
    ReadData,
}

impl Default for BusSpec {
    fn default() -> Self {
        Self { transfer_us: 20.0, transfer_extra_level_us: 10.0, command_us: 0.0, first: BusFirst::default() }
    }
}

impl BusSpec {
    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        let command = if self.command_us > 0.0 { format!(", command {} us", self.command_us) } else { String::new() };
        let first = match self.first {
            BusFirst::FirstCome => "",
            BusFirst::Commands => ", commands first",
            BusFirst::ReadData => ", read data first",
        };
        let Self { transfer_us, transfer_extra_level_us, .. } = self;
        format!("transfer {transfer_us} + {transfer_extra_level_us} us a level a codeword{command}{first}")
    }
}
