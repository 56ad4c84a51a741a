use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result, expect_whole};

/// Reading ahead of sequential reads: pages that are likely to be asked for next are read in advance, and wait in the read buffer. A
/// stream is a sequence of reads of one tenant, each of which begins where the one before it ended. The window of a stream is a number of
/// pages, counted from the end of its current request; it doubles with each request up to `most_pages`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadAheadSpec {
    /// The number of requests of a stream from which on pages are read ahead. The current request counts.
    #[schemars(range(min = 2, max = 64))]
    pub after_requests: u32,
    /// The first window of a stream, pages.
    pub least_pages: u32,
    /// The largest window of a stream, pages: at most half of the pages that the read buffer holds.
    pub most_pages: u32,
    /// The number of streams of each tenant that are recognised at the same time. A new stream replaces the one that was
    /// inactive longest.
    #[schemars(range(min = 1, max = 256))]
    pub streams: u32,
}

impl Default for ReadAheadSpec {
    fn default() -> Self {
        Self { after_requests: 2, least_pages: 2, most_pages: 32, streams: 8 }
    }
}

impl ReadAheadSpec {
    /// Checks the numbers of pages. The read buffer, if there is one, holds `buffer_pages` pages.
    pub(super) fn check(self, buffer_pages: Option<u64>) -> Result<()> {
        let path = |field| format!("host.read_ahead.{field}");
        let Some(pages) = buffer_pages else {
            let message = "found without `host.read_buffer`, expected a `host.read_buffer` table: pages that are \
                           read ahead wait in the read buffer";
            return Err(Error::config("host.read_ahead", message));
        };
        let mut faults = Faults::default();
        if self.most_pages == 0 || u64::from(self.most_pages) > pages / 2 {
            let message = format!(
                "found {}, expected 1 to {}, half of the {pages} pages that `host.read_buffer` holds",
                self.most_pages,
                pages / 2
            );
            faults.add(Error::config(path("most_pages"), message));
        } else {
            faults.see(expect_whole(path("least_pages"), self.least_pages, 1, self.most_pages));
        }
        faults.end()
    }

    /// One line for people.
    pub(super) fn describe(self) -> String {
        format!("to {} pages after {} requests", self.most_pages, self.after_requests)
    }
}
