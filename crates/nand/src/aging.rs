//! Arrhenius equivalents: the time for which a chip is baked in the laboratory in place of months of use.

/// Boltzmann's constant, in eV / K (2018 CODATA, exact in SI units).
const BOLTZMANN_EV_PER_K: f64 = 8.617_333_262e-5;

/// 0 degrees Celsius, in kelvin.
const ZERO_CELSIUS_K: f64 = 273.15;

/// The time in minutes for which a written chip is baked at `bake_c` to lose as much charge as in `retention_hours` at `operating_c`.
/// Both temperatures are in degrees Celsius.
///
/// LDPC-in-SSD bakes for 39 minutes at 105 C, for a month at 40 C with 1.1 eV.
///
/// Source: K. Zhao et al., "LDPC-in-SSD: Making Advanced Error Correction Codes Work Effectively in Solid State Drives",
/// 2013, section 4.1, eq. 6.
pub fn retention_bake_minutes(retention_hours: f64, operating_c: f64, bake_c: f64, activation_energy_ev: f64) -> f64 {
    60.0 * retention_hours * acceleration(operating_c, bake_c, activation_energy_ev)
}

/// The time in minutes for which a chip that was cycled in a hurry at `cycling_c` is baked at `bake_c`, both in degrees Celsius. The chip
/// then has recovered as it would between cycles spread over `cycling_hours`.
///
/// LDPC-in-SSD's 400 days at 25 C, with a recovery constant of 0.022 and 1.1 eV, give 1.5 minutes at 105 C; it prints 11
/// minutes, which 40 C gives.
///
/// # Arguments
/// - `recovery_constant`: A, which depends on the fabrication technology.
///
/// Source: as of [`retention_bake_minutes`], eq. 5.
pub fn recovery_bake_minutes(
    recovery_constant: f64,
    cycling_hours: f64,
    cycling_c: f64,
    bake_c: f64,
    activation_energy_ev: f64,
) -> f64 {
    60.0 * recovery_constant * cycling_hours * acceleration(cycling_c, bake_c, activation_energy_ev)
}

/// The time at `hot_c` that has the effect of a unit of time at `cold_c`.
pub(crate) fn acceleration(cold_c: f64, hot_c: f64, activation_energy_ev: f64) -> f64 {
    let inverse = |celsius: f64| 1.0 / (BOLTZMANN_EV_PER_K * (celsius + ZERO_CELSIUS_K));
    libm::exp(activation_energy_ev * (inverse(hot_c) - inverse(cold_c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Are baking times those of the equations of LDPC-in-SSD, section 4.1, and does 40 C give the minutes that it prints?
    #[test]
    fn baking_times_are_those_of_ldpc_in_ssd() {
        let retention = retention_bake_minutes(30.0 * 24.0, 40.0, 105.0, 1.1);
        assert!((retention - 39.1).abs() < 0.05, "{retention}");
        let recovery = |cycling_c| recovery_bake_minutes(0.022, 400.0 * 24.0, cycling_c, 105.0, 1.1);
        assert!((recovery(25.0) - 1.5).abs() < 0.05, "{}", recovery(25.0));
        assert!((recovery(40.0) - 11.5).abs() < 0.05, "{}", recovery(40.0));
    }
}
