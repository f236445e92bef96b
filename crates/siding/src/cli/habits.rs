//! Commands that people of other tools type by habit, with the one of Siding that does it.

/// The answer to a first word that is no command of Siding but a command elsewhere.
pub fn other_command(word: &str) -> Option<String> {
    let instead = match word {
        "compile" | "p4c" | "p4c-bm2-ss" | "p4c-dpdk" | "p4c-ebpf" => {
            "to compile a program: siding build PROGRAM\nTo check it only: siding check PROGRAM"
        }
        "p4test" => "to check a program: siding check PROGRAM",
        "test" => "to run test scripts: siding stf PROGRAM TEST.stf",
        "simulate" => {
            "to run a program on packets: siding run PROGRAM --pcap FILE\n\
             To simulate its stateful actions: siding sim PROGRAM"
        }
        "simple_switch" | "simple_switch_grpc" => {
            "to run a program on live traffic: siding switch PROGRAM -i 0@INTERFACE"
        }
        "simple_switch_CLI" => "to talk to a running switch: siding ctl --help",
        "table_add" => {
            "to add an entry to a running switch: siding ctl add TABLE KEY... 'ACTION(ARGUMENT, ...)'\n\
             To start with a file of such commands: siding run PROGRAM --entries FILE"
        }
        "table_delete" => "to remove an entry of a running switch: siding ctl delete TABLE KEY...",
        "table_dump" => "to see the entries of a running switch: siding ctl show entries",
        _ => return None,
    };
    Some(format!("Siding has no command `{word}`; {instead}"))
}

/// The standards that `--std` takes.
pub fn standard(name: &str) -> Result<String, String> {
    match name {
        "p4-16" | "p4_16" => Ok(name.to_string()),
        "p4-14" | "p4_14" => Err("Siding reads P4-16 only; p4c translates P4-14: \
             p4test --std p4-14 --pp out.p4 in.p4"
            .to_string()),
        _ => Err("it is no standard of P4; p4-16 is known".to_string()),
    }
}

/// The versions that `--p4v` takes.
pub fn version(name: &str) -> Result<String, String> {
    match name {
        "16" | "1.2" => Ok(name.to_string()),
        "14" | "1.0" | "1.1" => standard("p4-14"),
        _ => Err("it is no version of P4; 16 is known".to_string()),
    }
}
