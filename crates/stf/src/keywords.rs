//! The words that lines begin with.

/// The command that a keyword begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    Add,
    CheckCounter,
    CheckMeter,
    CheckTable,
    Clock,
    CounterRead,
    CounterWrite,
    Expect,
    ExpectDigest,
    GroupAdd,
    GroupModify,
    GroupRemove,
    McMgrpCreate,
    McMgrpDestroy,
    McNodeAssociate,
    McNodeCreate,
    McNodeDestroy,
    McNodeDissociate,
    McNodeUpdate,
    MemberAdd,
    MemberModify,
    MemberRemove,
    MeterArraySetRates,
    MeterGetRates,
    MeterSetRates,
    MirroringAdd,
    MirroringAddMc,
    MirroringDelete,
    MirroringGet,
    Modify,
    ModifyKeepState,
    NoPacket,
    Packet,
    RegisterRead,
    RegisterReset,
    RegisterWrite,
    Remove,
    Port,
    ResetDefault,
    SetDefault,
    TimeoutWrite,
    ValueSetAdd,
    ValueSetClear,
    ValueSetRemove,
    Wait,
}

/// Word, meaning, and what may follow. Words are the same in upper and lower case.
pub const KEYWORDS: &[(&str, Keyword, &str)] = &[
    ("add", Keyword::Add, "TABLE [PRIORITY] KEY:VALUE... ACTION(NAME:VALUE, ...) [= HANDLE]"),
    (
        "check_counter",
        Keyword::CheckCounter,
        "COUNTER(INDEX or $HANDLE or default) [packets|bytes ==|!=|<|<=|>|>= NUMBER]",
    ),
    (
        "check_meter",
        Keyword::CheckMeter,
        "METER(INDEX or $HANDLE or default) [green|yellow|red packets|bytes ==|!=|<|<=|>|>= NUMBER]",
    ),
    (
        "check_table",
        Keyword::CheckTable,
        "TABLE entries|from_packets|added|exists|race_lost|full|carried|expired|evicted|deleted|notified ==|!=|<|<=|>|>= NUMBER",
    ),
    ("clock", Keyword::Clock, "TIME[ns|us|ms|s]"),
    ("counter_read", Keyword::CounterRead, "COUNTER INDEX [packets|bytes ==|!=|<|<=|>|>= NUMBER]"),
    ("counter_write", Keyword::CounterWrite, "COUNTER INDEX PACKETS BYTES"),
    ("expect", Keyword::Expect, "PORT [DIGITS with * for any, or LAYER(FIELD=VALUE)/...] [$]"),
    ("expect_digest", Keyword::ExpectDigest, "DIGEST FIELD:VALUE..."),
    ("group_add", Keyword::GroupAdd, "PROFILE GROUP MEMBER[:WEIGHT]..."),
    ("group_modify", Keyword::GroupModify, "PROFILE GROUP MEMBER[:WEIGHT]..."),
    ("group_remove", Keyword::GroupRemove, "PROFILE GROUP"),
    ("mc_mgrp_create", Keyword::McMgrpCreate, "GROUP"),
    ("mc_mgrp_destroy", Keyword::McMgrpDestroy, "GROUP"),
    ("mc_node_associate", Keyword::McNodeAssociate, "GROUP NODE"),
    ("mc_node_create", Keyword::McNodeCreate, "INSTANCE PORT..."),
    ("mc_node_destroy", Keyword::McNodeDestroy, "NODE"),
    ("mc_node_dissociate", Keyword::McNodeDissociate, "GROUP NODE"),
    ("mc_node_update", Keyword::McNodeUpdate, "NODE PORT..."),
    ("member_add", Keyword::MemberAdd, "PROFILE MEMBER ACTION(NAME:VALUE, ...)"),
    ("member_modify", Keyword::MemberModify, "PROFILE MEMBER ACTION(NAME:VALUE, ...)"),
    ("member_remove", Keyword::MemberRemove, "PROFILE MEMBER"),
    ("meter_array_set_rates", Keyword::MeterArraySetRates, "METER RATE:BURST..."),
    ("meter_get_rates", Keyword::MeterGetRates, "METER INDEX"),
    ("meter_set_rates", Keyword::MeterSetRates, "METER INDEX RATE:BURST..."),
    ("mirroring_add", Keyword::MirroringAdd, "SESSION PORT"),
    ("mirroring_add_mc", Keyword::MirroringAddMc, "SESSION GROUP"),
    ("mirroring_delete", Keyword::MirroringDelete, "SESSION"),
    ("mirroring_get", Keyword::MirroringGet, "SESSION"),
    ("modify", Keyword::Modify, "TABLE $HANDLE or [PRIORITY] KEY:VALUE... ACTION(NAME:VALUE, ...)"),
    (
        "modify_keep_state",
        Keyword::ModifyKeepState,
        "TABLE $HANDLE or [PRIORITY] KEY:VALUE... ACTION(NAME:VALUE, ...)",
    ),
    ("no_packet", Keyword::NoPacket, "[PORT]"),
    ("packet", Keyword::Packet, "PORT DIGITS or LAYER(FIELD=VALUE)/..."),
    ("port", Keyword::Port, "PORT host|network"),
    ("register_read", Keyword::RegisterRead, "REGISTER INDEX [==|!=|<|<=|>|>= VALUE]"),
    ("register_reset", Keyword::RegisterReset, "REGISTER"),
    ("register_write", Keyword::RegisterWrite, "REGISTER INDEX VALUE"),
    ("remove", Keyword::Remove, "all, or TABLE $HANDLE or [PRIORITY] KEY:VALUE..."),
    ("resetdefault", Keyword::ResetDefault, "TABLE"),
    ("setdefault", Keyword::SetDefault, "TABLE ACTION(NAME:VALUE, ...)"),
    ("timeout_write", Keyword::TimeoutWrite, "TABLE PROFILE TIME[ns|us|ms|s]"),
    ("value_set_add", Keyword::ValueSetAdd, "VALUE_SET FIELD:VALUE..."),
    ("value_set_clear", Keyword::ValueSetClear, "VALUE_SET"),
    ("value_set_remove", Keyword::ValueSetRemove, "VALUE_SET FIELD:VALUE..."),
    ("wait", Keyword::Wait, ""),
];

impl Keyword {
    /// The word in any case.
    pub fn find(word: &str) -> Option<Keyword> {
        KEYWORDS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(word)).map(|(_, keyword, _)| *keyword)
    }

    /// How to write the command.
    pub fn usage(self) -> String {
        let line = KEYWORDS.iter().find(|(_, keyword, _)| *keyword == self);
        line.map_or(String::new(), |(word, _, rest)| format!("{word} {rest}").trim_end().to_string())
    }
}
