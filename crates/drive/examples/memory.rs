//! Serves memory: `cargo run --release -p softsense-drive --example memory -- /tmp/memory.sock 64` is 64 MiB until standard input
//! ends. A port number instead of the path is one of 127.0.0.1.

use softsense_drive::nbd::{Address, Export, Extent, Failure, Limits, Server};
use std::sync::{Arc, RwLock};

struct Memory(RwLock<Vec<u8>>, u64);

impl Export for Memory {
    fn name(&self) -> &str {
        "memory"
    }
    fn description(&self) -> &str {
        "memory, lost at the end"
    }
    fn size_bytes(&self) -> u64 {
        self.1
    }
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Failure> {
        buffer.copy_from_slice(&self.0.read().unwrap()[offset as usize..][..buffer.len()]);
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8], _: bool) -> Result<(), Failure> {
        self.0.write().unwrap()[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }
    fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> Result<(), Failure> {
        self.write_zeroes(offset, bytes, true, fua)
    }
    fn write_zeroes(&self, offset: u64, bytes: u64, _: bool, _: bool) -> Result<(), Failure> {
        self.0.write().unwrap()[offset as usize..][..bytes as usize].fill(0);
        Ok(())
    }
    fn extents(&self, offset: u64, bytes: u64, most: usize) -> Result<Vec<Extent>, Failure> {
        let memory = self.0.read().unwrap();
        let blocks = memory[offset as usize..][..bytes as usize].chunks(4096);
        let extents = blocks.map(|block| {
            let zero = block.iter().all(|&byte| byte == 0);
            Extent { bytes: block.len() as u64, hole: zero, zero }
        });
        Ok(extents.take(most).collect())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().ok_or("expected the path of a socket or a port")?;
    let mebibytes: u64 = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let address = place.parse().map_or(Address::Unix(place.into()), Address::Loopback);
    let export = Arc::new(Memory(RwLock::new(vec![0; (mebibytes << 20) as usize]), mebibytes << 20));
    let server = Server::start(&address, export, Limits::default())?;
    println!("{}", server.uri());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    server.stop();
    Ok(())
}
