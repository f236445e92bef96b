//! The port of BMv2's Thrift server. Scripts wait until a switch listens there; Thrift itself is not spoken.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The answer to everybody who connects.
const ANSWER: &[u8] = b"Siding speaks no Thrift; use simple_switch_CLI of `siding shims`, or `siding ctl`\n";

/// Listens until it is dropped, and hangs up on everybody.
pub struct Stub {
    port: u16,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stub {
    /// Listens at a port of the loopback device. Fails with a message for people.
    pub fn start(port: u16) -> Result<Stub, String> {
        let failed = |error: std::io::Error| {
            format!("cannot listen on port {port}: {error}; --thrift-port names another one")
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let answer = move || {
            for client in listener.incoming() {
                if over.load(Ordering::Acquire) {
                    return;
                }
                if let Ok(mut client) = client {
                    // A client that is gone needs no answer.
                    let _ = client.write_all(ANSWER);
                }
            }
        };
        let thread = std::thread::Builder::new().name("thrift".to_owned()).spawn(answer).map_err(failed)?;
        Ok(Stub { port, is_over, thread: Some(thread) })
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // The thread waits for a client.
        if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn everybody_is_told_where_to_go() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let stub = Stub::start(free).unwrap();
        let mut told = String::new();
        TcpStream::connect((Ipv4Addr::LOCALHOST, free)).unwrap().read_to_string(&mut told).unwrap();
        assert!(told.contains("simple_switch_CLI"), "{told}");
        assert!(Stub::start(free).err().unwrap().contains("--thrift-port"));
        drop(stub);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, free)).is_err());
    }
}
