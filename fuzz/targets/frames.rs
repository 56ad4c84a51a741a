//! Frames to count, as campaigns describe them: do they count, or are they refused?
#![no_main]

use std::sync::atomic::AtomicBool;

use libfuzzer_sys::fuzz_target;
use softsense_ecc::catalogue::Code;
use softsense_link::{FrameSpec, FrameTask};

fuzz_target!(|text: &str| {
    let Ok(spec) = serde_json::from_str::<FrameSpec>(text) else { return };
    // Long decoding is no hang.
    if spec.iterations > 20 {
        return;
    }
    let Ok(task) = FrameTask::new(Code::shipped("teaching-1/2").expect("it is shipped"), spec) else { return };
    for rate in [task.raw_error_rate(), task.decision_error_rate(), task.sure_error_rate()].into_iter().flatten() {
        assert!((0.0..=1.0).contains(&rate), "{rate}");
    }
    // Most of what may go wrong goes wrong before there are frames; a unit has thousands of them.
    if text.len().is_multiple_of(64) {
        let counts = task.count(None, 0, 1, &AtomicBool::new(false));
        assert!(
            counts.is_err()
                || counts.is_ok_and(|counts| counts.is_some_and(|counts| counts.frames == task.unit_frames()))
        );
    }
});
