//! A connection that can break without a word.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Carries bytes between a client and the server until it is cut off; both ends then hear nothing more.
pub struct Wire {
    pub address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Wire {
    pub fn to(server: SocketAddr) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, is_cut) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let cut = Arc::clone(&is_cut);
        std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect(server).unwrap();
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let there = Arc::clone(&cut);
            let carry = |mut from: TcpStream, mut to: TcpStream, cut: Arc<AtomicBool>| {
                let mut bytes = [0; 4096];
                while let Ok(n) = from.read(&mut bytes) {
                    if n == 0 || cut.load(Ordering::Acquire) || to.write_all(&bytes[..n]).is_err() {
                        break;
                    }
                }
                // The connection stays open, as after the loss of a cable.
                while cut.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(20));
                }
            };
            std::thread::spawn(move || carry(back.0, back.1, cut));
            carry(client, server, there);
        });
        Wire { address, is_cut }
    }

    /// From now on no byte arrives, and nobody is told.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.is_cut.store(false, Ordering::Release);
    }
}
