//! Prints the C of a program.
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_default();
    let trace = args.next().as_deref() == Some("trace");
    let source = driver::read_source(std::path::Path::new(&path)).unwrap();
    let loader = driver::FileLoader { include_dirs: vec![] };
    let mut checked = driver::check(&source, &loader, &driver::Options::default());
    let Some(mut runnable) = driver::runnable(&mut checked, None) else { std::process::exit(3) };
    if !trace {
        ir::passes::run(&mut runnable.program, ir::passes::DEFAULT).unwrap();
    }
    let options = codegen::Options {
        program_name: path,
        trace,
        line_directives: std::env::var("NOLINE").is_err(),
        ..Default::default()
    };
    print!("{}", codegen::generate(&runnable.program, &checked.sources, &options));
}
