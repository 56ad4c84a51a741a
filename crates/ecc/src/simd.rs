//! The choice of vector instructions for the kernels.

use softsense_base::{Error, Result};

/// A set of vector instructions for which kernels are compiled. All sets compute the same, bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// The instructions that every CPU of the target has.
    Portable,
    /// x86-64 with AVX2, BMI2 and PCLMULQDQ.
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL, DQ, VBMI and GFNI, VPCLMULQDQ.
    Avx512,
}

impl InstructionSet {
    /// Returns the widest set that this CPU has. The environment variable `SOFTSENSE_SIMD` (`portable`, `avx2`, `avx512`) lowers it.
    pub fn detect() -> Self {
        let limit = Self::wanted().ok().flatten().unwrap_or(Self::Avx512);
        Self::available().into_iter().rfind(|set| *set <= limit).expect("the portable set is always there")
    }

    /// Checks that `SOFTSENSE_SIMD` is one of these names, or not set. [`Self::detect`] treats any other value as not set.
    ///
    /// # Errors
    /// If it is another value.
    pub fn check_environment() -> Result<()> {
        Self::wanted().map(drop)
    }

    fn wanted() -> Result<Option<Self>> {
        let Some(value) = std::env::var_os("SOFTSENSE_SIMD") else { return Ok(None) };
        let sets = [Self::Portable, Self::Avx2, Self::Avx512];
        let found = sets.into_iter().find(|set| value == set.name());
        found.map(Some).ok_or_else(|| {
            let message = format!("found `{}`, expected portable, avx2 or avx512", value.display());
            Error::config("SOFTSENSE_SIMD", message)
        })
    }

    /// The sets that this CPU has, narrowest first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut sets = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("pclmulqdq");
            if avx2 {
                sets.push(Self::Avx2);
            }
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("gfni")
                && is_x86_feature_detected!("vpclmulqdq");
            if avx2 && avx512 {
                sets.push(Self::Avx512);
            }
        }
        sets
    }

    /// The name of the set, as `SOFTSENSE_SIMD` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}
