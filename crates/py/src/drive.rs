use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use serde::Deserialize;
use softsense_base::{Error, Result};
use softsense_drive::nbd::{Address, Limits, Server};
use softsense_drive::{Control, DriveSpec, ServedDrive};

use crate::{Config, raise};

/// The options of a served drive.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    image: PathBuf,
    size_bytes: Option<u64>,
    socket: Option<PathBuf>,
    port: Option<u16>,
    #[serde(default)]
    real_time: bool,
    #[serde(default = "yes")]
    parity: bool,
    #[serde(default)]
    refresh_hours: Option<f64>,
    #[serde(default)]
    write_cache: WriteCache,
    #[serde(default)]
    seed: Option<u64>,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    config: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "snake_case")]
enum WriteCache {
    #[default]
    Protected,
    Volatile,
}

/// A drive that is served, by NBD and to its owner.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct DriveServer {
    drive: Arc<ServedDrive>,
    address: String,
    control: PathBuf,
    servers: Mutex<Option<(Server, Control)>>,
}

fn start(config: &Config, options: Options) -> Result<DriveServer> {
    let address = match (&options.socket, options.port) {
        (Some(path), None) => Address::Unix(path.clone()),
        (None, Some(port)) => Address::Loopback(port),
        _ => {
            return Err(Error::config(
                "options",
                "found both a socket and a port, or neither, expected one of the two",
            ));
        }
    };
    address.expect_free()?;
    let control = match &options.socket {
        Some(path) => {
            let mut name = path.as_os_str().to_owned();
            name.push(".control");
            PathBuf::from(name)
        }
        None => options.image.join("control.sock"),
    };
    let spec = DriveSpec {
        image: options.image,
        size_bytes: options.size_bytes,
        parity: options.parity,
        refresh_hours: options.refresh_hours,
        protected_cache: options.write_cache == WriteCache::Protected,
        seed: options.seed,
        config: options.config,
    };
    let drive = Arc::new(ServedDrive::open(&config.checked, spec, options.real_time, options.read_only)?);
    let control = Control::start(&control, drive.clone())?;
    let server = Server::start(&address, drive.clone(), Limits::default())?;
    Ok(DriveServer {
        address: server.uri().to_owned(),
        control: control.path().to_owned(),
        servers: Mutex::new(Some((server, control))),
        drive,
    })
}

#[pymethods]
impl DriveServer {
    /// Opens or makes the image, and begins to listen.
    ///
    /// Args:
    ///     config: the config of the drive.
    ///     options: JSON: `image`, `size_bytes`, `socket` or `port`, `real_time`, `parity`, `refresh_hours`, `write_cache`
    ///         (`protected` or `volatile`), `seed`, `read_only`.
    ///
    /// Raises:
    ///     ConfigError: a config that cannot be served, or options that do not fit.
    ///     FileError: an image that is damaged, served already or of another drive, or a socket that is taken.
    #[new]
    fn new(py: Python<'_>, config: &Config, options: &str) -> PyResult<Self> {
        let options: Options =
            serde_json::from_str(options).map_err(|error| raise(Error::config("options", error.to_string())))?;
        py.detach(|| start(config, options)).map_err(raise)
    }

    /// The NBD URI.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// Paths of fields of the config that have no effect on a served drive, where they are not at their defaults.
    #[getter]
    fn without_effect(&self) -> Vec<String> {
        self.drive.without_effect().to_vec()
    }

    /// The path of the owner's socket.
    #[getter]
    fn control(&self) -> PathBuf {
        self.control.clone()
    }

    /// Sends a request as over the owner's socket.
    ///
    /// Args:
    ///     request: a JSON object with one field.
    ///
    /// Returns:
    ///     A JSON object with the field `ok` or `error`.
    fn ask(&self, py: Python<'_>, request: &str) -> String {
        py.detach(|| self.drive.ask(request))
    }

    /// True until somebody asks the drive to stop.
    fn running(&self) -> bool {
        !self.drive.is_stopping()
    }

    /// Stops listening, and puts everything on the disk. A second time it does nothing.
    ///
    /// Raises:
    ///     FileError: the image cannot be written.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some((server, control)) = servers else { return Ok(()) };
            server.stop();
            drop(control);
            self.drive.close()
        })
        .map_err(raise)
    }
}
