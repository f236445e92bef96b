//! Values of counter and meter cells.

pub use control::schema::MeterType;

/// An index beyond the last cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("index {index} is beyond the last of {size} cells")]
pub struct OutOfRange {
    pub index: u64,
    pub size: u64,
}

/// Value of one counter cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub n_packets: u64,
    pub n_bytes: u64,
}

/// Rates are per second in the unit of the meter (packets or bytes), bursts in that unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MeterRates {
    pub meter_type: MeterType,
    pub committed_rate: u64,
    pub committed_burst: u64,
    /// Marks packets of two-rate meters only, as the peak burst does.
    pub peak_rate: u64,
    pub peak_burst: u64,
    /// Marks packets of single-rate three-colour meters only.
    pub excess_burst: u64,
}

/// Packets that a meter has marked, by colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColourCounts {
    pub green: Count,
    pub yellow: Count,
    pub red: Count,
}

/// The cells of an entry in the table's direct counter and meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectCells {
    pub count: Count,
    pub rates: Option<MeterRates>,
    pub colours: ColourCounts,
}
