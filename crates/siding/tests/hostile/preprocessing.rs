//! Includes and macros that grow without end.

use crate::run::{Case, Expect, judge};
use std::fmt::Write;

/// `M0` to `Mn`, each made of several of the one before.
fn bomb(n: usize, body: &str, last: &str) -> String {
    let mut text = String::from("#define M0 1\n");
    for i in 1..=n {
        let previous = format!("M{}", i - 1);
        writeln!(text, "#define M{i} {}", body.replace('$', &previous)).unwrap();
    }
    text + &last.replace('$', &format!("M{n}"))
}

#[test]
fn includes() {
    let wide: String = (0..3).map(|_| "#include \"main.p4\"\n").collect();
    let chain = |n: usize| {
        let mut case = Case::new(format!("chain of {n} files"), "#include \"f1.p4\"\n", Expect::Either);
        for i in 1..n {
            case = case.with(format!("f{i}.p4"), format!("#include \"f{}.p4\"\n", i + 1));
        }
        case.with(format!("f{n}.p4"), "const bit<8> x = 1;\n")
    };
    judge([
        Case::new("includes itself", "#include \"main.p4\"\n", Expect::Refused),
        Case::new("includes itself three times", wide, Expect::Refused),
        Case::new("two files", "#include \"b.p4\"\n", Expect::Refused)
            .with("b.p4", "#include \"main.p4\"\n#include \"b.p4\"\n"),
        Case::new("macro as name", "#define F \"main.p4\"\n#include F\n", Expect::Refused),
        Case::new("a file 10,000 times", "#include \"b.p4\"\n".repeat(10_000), Expect::Refused)
            .with("b.p4", "// nothing\n"),
        Case::new("core.p4 4,000 times", "#include <core.p4>\n".repeat(4000), Expect::Accepted),
        Case::new("v1model.p4 4,000 times", "#include <v1model.p4>\n".repeat(4000), Expect::Accepted),
        Case::new("long name", format!("#include \"{}\"\n", "a".repeat(1 << 20)), Expect::Refused),
        Case::new("long path", format!("#include \"{}\"\n", "../".repeat(100_000)), Expect::Refused),
        Case::new("directory", "#include \".\"\n", Expect::Refused),
        Case::new("device", "#include \"/dev/zero\"\n", Expect::Refused),
        Case::new("zero byte in name", "#include \"a\0b\"\n", Expect::Refused),
        chain(60),
        chain(1000),
    ]);
}

#[test]
fn macros() {
    let call_chain = |n: usize| {
        let mut text = String::from("#define F0(x) x\n");
        for i in 1..=n {
            writeln!(text, "#define F{i}(x) F{}(x)", i - 1).unwrap();
        }
        text + &format!("const int x = F{n}(1);\n")
    };
    judge([
        Case::new("itself", "#define A A\nconst int A = 1;\n", Expect::Accepted),
        Case::new("itself twice", "#define A A A\nA\n", Expect::Refused),
        Case::new("mutual", "#define A B B\n#define B A A\nA\n", Expect::Refused),
        Case::new("function of itself", "#define F(x) F(F(x)) F(x)\nF(F(F(F(1))))\n", Expect::Refused),
        Case::new("unclosed call", "#define F(x) x\nF(".to_owned() + &"1,".repeat(1 << 20), Expect::Refused),
        Case::new("doubling", bomb(100, "$ + $", "const int x = $;"), Expect::Refused),
        Case::new("doubling to nothing", bomb(60, "$ $", "").replace("M0 1", "M0"), Expect::Accepted),
        Case::new(
            "doubled nothing",
            bomb(60, "$ $", "$ const int x = 1;").replace("M0 1", "M0"),
            Expect::Either,
        ),
        Case::new("in a condition", bomb(100, "$ + $", "#if $\n#endif\n"), Expect::Refused),
        Case::new(
            "function that doubles",
            "#define D(x) x x\n".to_owned() + &"D(".repeat(200) + "1" + &")".repeat(200),
            Expect::Refused,
        ),
        Case::new(
            "nested calls",
            "#define I(x) x\nconst int x = ".to_owned()
                + &"I(".repeat(100_000)
                + "1"
                + &")".repeat(100_000)
                + ";",
            Expect::Either,
        ),
        Case::new("chain of objects", bomb(50_000, "$", "const int x = $;"), Expect::Either),
        Case::new("chain of calls", call_chain(20_000), Expect::Either),
        Case::new(
            "pasting",
            "#define P(a, b) a ## b\nconst int x = ".to_owned()
                + &"P(1, ".repeat(5000)
                + "1"
                + &")".repeat(5000)
                + ";",
            Expect::Either,
        ),
        Case::new("long pasting", format!("#define P a {}\nP\n", "## a ".repeat(200_000)), Expect::Refused),
        Case::new("stringising", format!("#define S(x) #x\nS({})\n", "a ".repeat(1 << 20)), Expect::Refused),
        Case::new(
            "many parameters",
            {
                let names: Vec<String> = (0..50_000).map(|i| format!("p{i}")).collect();
                format!("#define F({0}) {0}\nF({0})\n", names.join(","))
            },
            Expect::Refused,
        ),
        Case::new(
            "many macros",
            (0..200_000).fold(String::new(), |mut text, i| {
                writeln!(text, "#define N{i} {i}").unwrap();
                text
            }),
            Expect::Accepted,
        ),
        Case::new("same macro many times", "#define N 1\n#undef N\n".repeat(200_000), Expect::Accepted),
        Case::new(
            "redefinitions",
            (0..200_000).fold(String::new(), |mut text, i| {
                writeln!(text, "#define N {i}").unwrap();
                text
            }),
            Expect::Either,
        ),
        Case::new("long definition", format!("#define A {}\nA\n", "1 + ".repeat(1 << 20)), Expect::Refused),
        Case::new(
            "long definition used often",
            format!("#define A {}\n{}\n", "1 + ".repeat(10_000), "A ".repeat(10_000)),
            Expect::Refused,
        ),
    ]);
}

#[test]
fn directives() {
    let conditions = |n: usize| "#if 1\n".repeat(n) + &"#endif\n".repeat(n);
    judge([
        Case::new("conditions", conditions(100_000), Expect::Either),
        Case::new("conditions without end", "#if 1\n".repeat(100_000), Expect::Refused),
        Case::new(
            "skipped conditions",
            "#if 0\n".repeat(100_000) + &"#endif\n".repeat(100_000),
            Expect::Either,
        ),
        Case::new("ends", "#endif\n".repeat(100_000), Expect::Refused),
        Case::new("elses", "#if 1\n".to_owned() + &"#else\n".repeat(100_000), Expect::Refused),
        Case::new(
            "elifs",
            "#if 0\n".to_owned() + &"#elif 0\n".repeat(100_000) + "#endif\n",
            Expect::Accepted,
        ),
        Case::new(
            "parentheses",
            format!("#if {}1{}\n#endif\n", "(".repeat(100_000), ")".repeat(100_000)),
            Expect::Either,
        ),
        Case::new("signs", format!("#if {}1\n#endif\n", "!".repeat(100_000)), Expect::Either),
        Case::new("choices", format!("#if {}1\n#endif\n", "1 ? 1 : ".repeat(100_000)), Expect::Either),
        Case::new("sum", format!("#if {}1\n#endif\n", "1 + ".repeat(1 << 20)), Expect::Either),
        Case::new("huge number", format!("#if {}\n#endif\n", "9".repeat(1 << 20)), Expect::Refused),
        Case::new(
            "division",
            "#if 1 / 0\n#endif\n#if (-9223372036854775807 - 1) / -1\n#endif\n",
            Expect::Either,
        ),
        Case::new(
            "shifts",
            "#if 1 << 64\n#endif\n#if 1 >> -1\n#endif\n#if 1 << 9999999999\n#endif\n",
            Expect::Either,
        ),
        Case::new("unknown", "#unknown\n".repeat(100_000), Expect::Either),
        Case::new("errors", "#error no\n".repeat(100_000), Expect::Refused),
        Case::new("warnings", "#warning no\n".repeat(100_000), Expect::Either),
        Case::new("line numbers", "#line 4294967295 \"x\"\nx\n".repeat(100_000), Expect::Refused),
        Case::new("huge line number", format!("#line {}\nx\n", "9".repeat(1000)), Expect::Refused),
        Case::new("continued", "\\\n".repeat(1 << 20), Expect::Either),
        Case::new("continued directive", "#define A ".to_owned() + &"\\\n".repeat(1 << 20), Expect::Either),
        Case::new("hashes", "#".repeat(1 << 20), Expect::Either),
        Case::new("hash lines", "#\n".repeat(1 << 20), Expect::Either),
    ]);
}
