//! Policies and rules of the user's own: those that a config names, and those that were handed over for it.

use softsense_base::{Error, OwnName, Result};
use softsense_link::{AskedPolicy, ReadSpec, StepsThere, Watched};

use super::CheckedConfig;
use crate::own::{AdmitEntries, AdmitPages, ChooseVictim, Own, OwnDevice, PaceCollection, PlaceWrites, made};
use crate::spec::{GcPacing, Mapping, PlaneChoice, VictimSpec};

impl CheckedConfig {
    /// Lists the names of the user's policies and rules in the config, with the path of each.
    pub fn own_names(&self) -> impl Iterator<Item = (&'static str, OwnName)> {
        let named = [
            ("read.policy", self.config.read.policy.own()),
            ("ftl.victims", self.config.ftl.victims.own()),
            ("ftl.plane_choice", self.config.ftl.plane_choice.own()),
            ("ftl.gc_pacing", self.config.ftl.gc_pacing.own()),
            ("host.read_buffer.admission", self.own_page_admission()),
            ("ftl.mapping.demand.admission", self.own_entry_admission()),
        ];
        named.into_iter().filter_map(|(path, name)| Some((path, name?)))
    }

    /// Returns the config with the user's policies and rules that it names. A simulation of it then runs these.
    ///
    /// # Errors
    /// When a policy needs something that the device or its reliability does not have.
    pub fn with_own(mut self, own: Own) -> Result<Self> {
        if let (Some(name), Some(policy)) = (self.config.read.policy.own(), &own.policy) {
            let bad = |message: &str| Err(Error::config(name.as_str(), message));
            if policy.traits.looks_ahead && !self.config.flash.cache_register {
                return bad(
                    "looks_ahead: found true together with `flash.cache_register = false`, expected false, or \
                     `flash.cache_register = true`: without the register a plane cannot sense while it transfers",
                );
            }
            let weights = &policy.traits.observes.syndrome_weight;
            if *weights != Watched::Unseen
                && !self.reliability.knows_syndrome_weights()
                && !self.reliability.never_fails()
            {
                return bad(
                    "observes: found `syndrome_weight` with a `reliability` that has no numbers of violated checks, \
                     expected a decode table with `bit_degrees` and `check_degrees`, or `reliability.exact` with an \
                     LDPC code",
                );
            }
        }
        self.own = own;
        Ok(self)
    }

    /// Returns the user's policies and rules that were handed over.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// Returns the description of the device for the user's policies and rules.
    pub fn own_device(&self) -> OwnDevice {
        let geometry = &self.geometry;
        OwnDevice {
            seed: self.config.seed,
            max_level: self.config.read.max_level,
            retry_entries: self.reliability.retries(),
            page_types: self.page_types(),
            ssds: geometry.ssds(),
            planes: geometry.planes_of_ssd(),
            sets: geometry.sets(),
            blocks_per_plane: geometry.blocks_per_plane(),
            pages_per_block: geometry.pages_per_superblock(),
            codewords_per_block: geometry.codewords_per_superblock(),
            user_codewords: self.user_codewords(),
        }
    }

    /// Returns the number of page types that reads meet; the type of SLC blocks comes last, where there are any.
    fn page_types(&self) -> u32 {
        self.config.flash.page_types.len() as u32 + u32::from(self.config.ftl.slc_cache.is_some())
    }

    /// Makes the user's read policy, asked for all decisions that can be asked for before a run.
    ///
    /// # Errors
    /// When it was not handed over, its code fails, or an answer is not a valid step.
    pub fn own_policy(&self) -> Result<Option<AskedPolicy>> {
        let ReadSpec { policy, max_level, .. } = self.config.read;
        let thing = self.own.policy.as_ref().map(|own| &own.policy);
        let Some((name, policy)) = made("read.policy", policy.own(), thing, &self.own_device())? else {
            return Ok(None);
        };
        let traits = self.own.policy.as_ref().expect("it was made").traits.clone();
        let steps = StepsThere::new(max_level, self.page_types(), &self.reliability);
        AskedPolicy::new(name, policy, traits, steps).map(Some)
    }

    /// Makes the user's rule for victims.
    ///
    /// # Errors
    /// When it was not handed over, or its code fails.
    pub fn own_victims(&self) -> Result<Option<(OwnName, Box<dyn ChooseVictim>)>> {
        let name = VictimSpec::own(self.config.ftl.victims);
        made("ftl.victims", name, self.own.victims.as_ref(), &self.own_device())
    }

    /// Makes the user's placement.
    ///
    /// # Errors
    /// When it was not handed over, or its code fails.
    pub fn own_placement(&self) -> Result<Option<(OwnName, Box<dyn PlaceWrites>)>> {
        let name = PlaneChoice::own(self.config.ftl.plane_choice);
        made("ftl.plane_choice", name, self.own.placement.as_ref(), &self.own_device())
    }

    fn own_page_admission(&self) -> Option<OwnName> {
        self.config.host.read_buffer.as_ref().and_then(|buffer| buffer.admission.own())
    }

    fn own_entry_admission(&self) -> Option<OwnName> {
        if let Mapping::Demand(demand) = self.config.ftl.mapping { demand.admission.own() } else { None }
    }

    /// Makes the user's admission to the read buffer.
    ///
    /// # Errors
    /// When it was not handed over, or its code fails.
    pub fn own_pages(&self) -> Result<Option<(OwnName, Box<dyn AdmitPages>)>> {
        let thing = self.own.pages.as_ref();
        made("host.read_buffer.admission", self.own_page_admission(), thing, &self.own_device())
    }

    /// Makes the user's admission to the mapping cache.
    ///
    /// # Errors
    /// When it was not handed over, or its code fails.
    pub fn own_entries(&self) -> Result<Option<(OwnName, Box<dyn AdmitEntries>)>> {
        let thing = self.own.entries.as_ref();
        made("ftl.mapping.demand.admission", self.own_entry_admission(), thing, &self.own_device())
    }

    /// Makes the user's pacing of garbage collection.
    ///
    /// # Errors
    /// When it was not handed over, or its code fails.
    pub fn own_pacing(&self) -> Result<Option<(OwnName, Box<dyn PaceCollection>)>> {
        let name = GcPacing::own(self.config.ftl.gc_pacing);
        made("ftl.gc_pacing", name, self.own.pacing.as_ref(), &self.own_device())
    }
}
