pub(crate) mod common_case;
pub(crate) mod in_packet_fields;
pub(crate) mod storage;
