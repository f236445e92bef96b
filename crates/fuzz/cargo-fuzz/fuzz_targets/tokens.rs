#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run(fuzz::Target::Tokens, data));
