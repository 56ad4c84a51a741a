use softsense_base::Result;
use softsense_ecc::catalogue::Code;
use softsense_ecc::measure::{Algorithm, DecoderSpec, FrameDecoder};

/// A decoder that may depend on the value of one step of an LLR.
pub(crate) struct StepDecoder {
    pub(crate) spec: DecoderSpec,
    /// The step that the decoder was made for; none if it does not matter.
    step: Option<f64>,
    decoder: Box<dyn FrameDecoder>,
}

impl StepDecoder {
    pub(crate) fn new(code: &Code, spec: DecoderSpec) -> Result<Self> {
        let floating = match code {
            Code::Ldpc(code) => matches!(spec.algorithm_of(code), Algorithm::MessagePassing { .. }),
            Code::Bch(_) => false,
        };
        Ok(Self { spec, step: floating.then_some(1.0), decoder: spec.decoder(code, 1.0)? })
    }

    /// Makes another decoder of the same kind.
    pub(crate) fn again(&self, code: &Code) -> Self {
        Self::new(code, self.spec).expect("it was made before")
    }

    pub(crate) fn for_step(&mut self, code: &Code, step: f64) -> &mut dyn FrameDecoder {
        if self.step.is_some_and(|made_for| made_for != step) {
            self.decoder = self.spec.decoder(code, step).expect("it was made before");
            self.step = Some(step);
        }
        &mut *self.decoder
    }
}
