//! The STF language: packets in, packets out, and what the control plane does in between.
//!
//! Key types: [`parse`] makes a [`Script`] of [`script::Command`]s from text; [`resolve()`] makes a [`Plan`] of
//! updates and checks from it for one program; [`expect::compare`] holds the packets that were sent against the
//! expected ones, and [`expect::Fault::diagnostic`] shows a difference.
//!
//! Invariants: nothing here fails or panics, whatever the text. A line that cannot be understood is reported with
//! its place and left out; the lines after it are read all the same. Everything in a [`Plan`] has been validated.
//!
//! [`run()`] does the steps of a plan on a [`Device`] and compares at the end, [`run_in_bursts`] with packets that come
//! together; [`Driven`] is the switch of any executor as one, [`Straight`] one that takes bursts as live ports do.
//!
//! Start reading at [`script`] for what there is to say, at [`mod@resolve`] for what it means.
//!
//! # The language
//!
//! A line is a command; `#` begins a comment. Commands are the same in upper and lower case. [`keywords`] lists
//! them all with their arguments. The language is that of the reference compiler's tests, with these facts that
//! are easily missed:
//!
//! - `expect 1 0a0b` is met by any packet that *begins* so; `expect 1 0a0b $` also compares the length.
//!   `*` stands for any digit. `expect 1` is met by any packet.
//! - A port that a script names has to send exactly the expected packets, in order. A port that it does not name
//!   is not looked at: packets that go there are lost.
//! - `1**` is a number only in hexadecimal and binary: `0x1**`.
//! - The larger priority wins.
//!
//! # Extensions
//!
//! None of these is valid in the reference compiler's language, so no script of its changes its meaning.
//!
//! | extension | meaning |
//! |---|---|
//! | `key:value&&&mask`, `key:low..high`, `key:_` | as P4 writes key sets; `_` is anything |
//! | `key:value/length` with any number | prefix of an `lpm` or `ternary` key |
//! | `key:"text"`, `action(name:"text")` | for types that the control plane sees as strings |
//! | `h.isValid():1` | a key that is an expression needs no quotes when it ends in `()` |
//! | `add t ... member 3`, `group 4` | what an entry of a table with an action profile or selector does |
//! | `add t ... oneshot a(x:1) b():2` | actions with their weights (1 unless given) |
//! | `remove t KEY`, `remove t $A`, `remove all` | removes the entry with this key, the one added with `= A`, all |
//! | `modify t KEY ACTION`, `modify t $A ACTION` | another action for an entry |
//! | `resetdefault t` | the default action of the program again |
//! | `member_add P 1 a()`, `member_modify`, `member_remove P 1` | members of an action profile or selector |
//! | `group_add P 1 2:5 3`, `group_modify`, `group_remove P 1` | groups of members with their weights |
//! | `value_set_add S field:value`, `value_set_remove`, `value_set_clear S` | members of a value set |
//! | `register_read r 5 == 0x10` | compares; also `!=`, `<`, `<=`, `>`, `>=` |
//! | `counter_read c 5 packets == 2`, also `$A` for the index | compares, as `check_counter c(5) packets == 2` |
//! | `expect_digest d field:value` | the next digest `d` has these values; `*` and `_` for any |
//! | `no_packet 3` | port 3 is looked at and sends nothing more than is expected |
//! | `no_packet` | ports that the script does not name send nothing |
//! | `clock 5ms` | moves the clock of the test; `ns` (default), `us`, `ms`, `s` |
//!
//! Ignored by the reference compiler's runner, but done here: `remove`, `check_counter`, `mc_node_update`, `wait`.

pub mod codes;
mod driven;
pub mod expect;
pub mod keywords;
pub mod limits;
mod parse;
pub mod resolve;
mod run;
pub mod script;
mod straight;

pub use driven::Driven;
pub use parse::{Parsed, parse, parse_file};
pub use resolve::{Plan, Step, StepKind, resolve};
pub use run::{Arriving, Device, Report, run, run_in_bursts};
pub use script::Script;
pub use straight::Straight;
