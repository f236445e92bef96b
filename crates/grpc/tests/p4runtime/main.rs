//! P4Runtime over a real socket: a test for each line of `docs/reference/p4runtime.md`, whose function begins with the line's
//! number. All rules about single entities are in the documents of crate `p4runtime` too, without a socket.

mod a_connection;
mod b_roles;
mod bench;
mod bulk;
mod c_pipeline;
mod d_write;
mod desk;
mod e_read;
mod f_values;
mod g_tables;
mod h_profiles;
mod history;
mod i_cells;
mod j_replication;
mod k_digests;
mod l_stream;
mod models;
mod random;
mod streams;
mod translation;

use grpc::Address;

#[test]
fn addresses_are_read_as_people_write_them() {
    let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
    for (text, expected) in [
        ("127.0.0.1:9559", Some(tcp("127.0.0.1:9559"))),
        ("localhost:50051", Some(tcp("127.0.0.1:50051"))),
        (":50051", Some(tcp("0.0.0.0:50051"))),
        ("[::1]:7", Some(tcp("[::1]:7"))),
        ("unix:/tmp/x", Some(Address::Unix("/tmp/x".into()))),
        ("9559", None),
        ("host:9559", None),
    ] {
        assert_eq!(text.parse::<Address>().ok(), expected, "{text}");
    }
}
