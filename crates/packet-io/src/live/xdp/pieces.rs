//! Packets that come in several frames.

use crate::{BufPool, PacketBuf, PortStats};

/// The beginning of a packet that comes in several frames. Each socket has its own, since packets of several queues come side by side.
#[derive(Debug, Default)]
pub(super) enum Pieces {
    #[default]
    None,
    Begun(PacketBuf),
    /// Too long; ends with the last piece.
    Dropped,
}

impl Pieces {
    /// Takes a piece, the last one of its packet or not, and puts packets of several pieces together in a buffer of the pool.
    /// Returns the packet behind its last piece; a packet of one piece is returned as it is.
    #[inline]
    pub(super) fn add(
        &mut self,
        pool: &mut BufPool,
        piece: PacketBuf,
        is_last: bool,
        stats: &mut PortStats,
    ) -> Option<PacketBuf> {
        match self {
            Pieces::None if is_last => Some(piece),
            _ => self.append(pool, piece, is_last, stats),
        }
    }

    #[cold]
    fn append(
        &mut self,
        pool: &mut BufPool,
        piece: PacketBuf,
        is_last: bool,
        stats: &mut PortStats,
    ) -> Option<PacketBuf> {
        let whole = match std::mem::take(self) {
            Pieces::None => pool.take(),
            Pieces::Begun(whole) => Some(whole),
            Pieces::Dropped => None,
        };
        let whole = whole.and_then(|mut whole| match whole.append(piece.len()) {
            Some(place) => {
                place.copy_from_slice(piece.data());
                Some(whole)
            }
            None => {
                pool.give_back(whole);
                None
            }
        });
        pool.give_back(piece);
        match (whole, is_last) {
            (Some(whole), true) => return Some(whole),
            (None, true) => stats.rx_too_long += 1,
            (Some(whole), false) => *self = Pieces::Begun(whole),
            (None, false) => *self = Pieces::Dropped,
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BufPoolOptions;

    fn piece(bytes: &[u8]) -> PacketBuf {
        // The size is that of the pool, which takes the buffer back.
        let mut piece = PacketBuf::new(192, 0);
        assert!(piece.set_data(bytes));
        piece
    }

    #[test]
    fn pieces_become_packets() {
        let options = BufPoolOptions { headroom_bytes: 64, packet_bytes_max: 128, n_max: 8 };
        let (mut pool, mut stats) = (BufPool::new(options), PortStats::default());
        let (mut one, mut other) = (Pieces::default(), Pieces::default());
        let whole = one.add(&mut pool, piece(&[1; 10]), true, &mut stats).unwrap();
        assert_eq!(whole.data(), [1; 10]);
        // Two queues at the same time.
        assert!(one.add(&mut pool, piece(&[1; 60]), false, &mut stats).is_none());
        assert!(other.add(&mut pool, piece(&[2; 60]), false, &mut stats).is_none());
        let whole = one.add(&mut pool, piece(&[3; 10]), true, &mut stats).unwrap();
        assert_eq!(whole.data(), [[1; 60].as_slice(), &[3; 10]].concat());
        let whole = other.add(&mut pool, piece(&[4; 20]), true, &mut stats).unwrap();
        assert_eq!(whole.data(), [[2; 60].as_slice(), &[4; 20]].concat());
        assert_eq!(stats.rx_too_long, 0);
        // Longer than a buffer: dropped up to its last piece, and the next one is whole.
        for _ in 0..4 {
            assert!(one.add(&mut pool, piece(&[5; 60]), false, &mut stats).is_none());
        }
        assert!(one.add(&mut pool, piece(&[5; 60]), true, &mut stats).is_none());
        assert_eq!(stats.rx_too_long, 1);
        assert_eq!(one.add(&mut pool, piece(&[6; 9]), true, &mut stats).unwrap().data(), [6; 9]);
    }
}
