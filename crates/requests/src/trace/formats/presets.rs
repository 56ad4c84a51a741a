//! Published traces whose columns are known: each format is a mapping of columns with a name.

use super::super::columns::Columns;
use crate::trace::Format;

/// The columns of a format.
struct Preset {
    format: Format,
    columns: &'static str,
    delimiter: &'static str,
    op: Option<&'static str>,
    /// Number of columns of a line, where this shape suffices to recognise the format; otherwise 0.
    recognised_columns: usize,
    /// Beginning of the header, where files have one.
    header: Option<&'static str>,
}

const PRESETS: [Preset; 8] = [
    Preset {
        format: Format::CloudPhysics,
        columns: "-,time:us,op,bytes,lbn:512B",
        delimiter: "comma",
        // SCSI commands READ, WRITE, WRITE AND VERIFY, UNMAP and SYNCHRONIZE CACHE of 6, 10, 12 and 16 bytes, hexadecimal, as in vscsi.
        op: Some("read=28/88/a8/8/08,write=2a/8a/aa/a/0a/2e/8e/ae,trim=42,flush=35/91,skip=*"),
        recognised_columns: 0,
        header: Some("version,time,op,size,lbn"),
    },
    Preset {
        format: Format::Alibaba2020,
        columns: "device,op,offset,bytes,time:us",
        delimiter: "comma",
        op: None,
        recognised_columns: 5,
        header: Some("device_id,opcode,offset,length,timestamp"),
    },
    Preset {
        format: Format::TencentCbs,
        columns: "time:s,lbn:512B,bytes:512B,op,device",
        delimiter: "comma",
        op: Some("read=0,write=1"),
        recognised_columns: 0,
        header: Some("Timestamp,Offset,Size,IOType,VolumeID"),
    },
    Preset {
        format: Format::Systor17,
        columns: "time:s,response,op,device,offset,bytes",
        delimiter: "comma",
        // An empty type means that no answer was seen, so the kind of request is unknown.
        op: Some("read=r/read,write=w/write,skip="),
        recognised_columns: 6,
        header: Some("Timestamp,Response,IOType,LUN,Offset,Size"),
    },
    Preset {
        format: Format::Thesios,
        columns: "object=filename,offset=file_offset,op=op_type,bytes=request_io_size_bytes,time:s=start_time",
        delimiter: "comma",
        op: None,
        recognised_columns: 0,
        header: Some("filename,"),
    },
    Preset {
        format: Format::Tectonic,
        columns: "block:8MiB,offset,bytes,time:s,op",
        delimiter: "blank",
        // GET_TEMP, GET_PERM, GET_NOT_INIT; PUT_TEMP, PUT_PERM, PUT_NOT_INIT; UNKNOWN.
        op: Some("read=1/2/5,write=3/4/6,skip=100"),
        recognised_columns: 0,
        header: None,
    },
    Preset {
        format: Format::DiskMon,
        columns: "-,time:s,response,device,op,lbn:512B,bytes:512B",
        delimiter: "tab",
        op: None,
        recognised_columns: 7,
        header: None,
    },
    Preset {
        format: Format::Fiu,
        columns: "time:ns,-,-,lbn:512B,bytes:512B,op,major,minor",
        delimiter: "blank",
        op: None,
        recognised_columns: 9,
        header: None,
    },
];

impl Preset {
    fn columns(&self) -> Columns {
        Columns::new(self.columns, Some(self.delimiter), 0, self.op).expect("columns of presets are good")
    }
}

/// Returns the columns of a format that is a mapping of columns.
pub(in super::super) fn preset(format: Format) -> Option<Columns> {
    PRESETS.iter().find(|preset| preset.format == format).map(Preset::columns)
}

/// Returns the format of which a line is the header or, by `parses`, a request with the number of columns that the format has.
pub(super) fn recognise(line: &[u8], parses: impl Fn(&Columns, usize) -> bool) -> Option<Format> {
    let text = std::str::from_utf8(line).ok()?;
    let known = |preset: &&Preset| {
        preset.header.is_some_and(|header| {
            text.get(..header.len()).is_some_and(|start| start.eq_ignore_ascii_case(header))
                && (preset.format != Format::Thesios || text.contains("file_offset"))
        }) || (preset.recognised_columns > 0 && parses(&preset.columns(), preset.recognised_columns))
    };
    PRESETS.iter().find(known).map(|preset| preset.format)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is every format either a preset, or does it have a parser of its own?
    #[test]
    fn presets_are_good_and_known() {
        for preset in &PRESETS {
            let columns = preset.columns();
            assert!(columns.delimiter.is_some());
            assert_eq!(super::preset(preset.format), Some(columns));
        }
        assert_eq!(Format::ALL.iter().filter(|&&format| super::preset(format).is_some()).count(), PRESETS.len());
    }
}
