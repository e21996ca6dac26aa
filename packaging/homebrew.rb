# Made by `cargo xtask dist`.
class Switchboard < Formula
  desc "One program between every AI client and every MCP server"
  homepage "@HOME@"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license any_of: ["Apache-2.0", "MIT"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"switchboard", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/switchboard --version")
  end
end
