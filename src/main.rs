//! Hands over to the command line and ends with its exit code; nothing else lives here.

fn main() -> std::process::ExitCode {
    kubectl_repack::cli::main()
}
