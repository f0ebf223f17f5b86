defmodule Server.MixProject do
  use Mix.Project

  # Cowboy 1 and 2 cannot be in one program: v1/ is a project of its own, made along with this one.
  def project do
    [
      app: :server,
      version: "0.1.0",
      elixir: "~> 1.14",
      start_permanent: true,
      elixirc_paths: ["lib", "common"],
      deps: [
        dep(:cowboy, "== 2.14.0"),
        dep(:cowboy_telemetry, "== 0.4.0"),
        dep(:cowlib, "== 2.16.0"),
        dep(:jason, "== 1.4.4"),
        dep(:mime, "== 2.0.7"),
        dep(:plug, "== 1.18.1"),
        dep(:plug_cowboy, "== 2.7.4"),
        dep(:plug_crypto, "== 2.1.1"),
        dep(:ranch, "== 2.2.0"),
        dep(:telemetry, "== 1.3.0")
      ],
      aliases: ["deps.get": [&get_v1/1, "deps.get"], compile: [&compile_v1/1, "compile"]]
    ]
  end

  def application, do: [mod: {Server, []}, extra_applications: [:logger]]

  defp get_v1(_), do: in_v1(["deps.get", "--only", "prod"])
  defp compile_v1(_), do: in_v1(["compile"])

  defp in_v1(arguments) do
    case System.cmd("mix", arguments, cd: Path.join(__DIR__, "v1"), into: IO.stream()) do
      {_, 0} -> :ok
      {_, status} -> Mix.raise("mix #{Enum.join(arguments, " ")} failed in v1/ with status #{status}")
    end
  end

  # Where Hex cannot be reached, a folder can stand in for it.
  defp dep(app, version) do
    case System.get_env("PRONY_MIX_DEPS", "") do
      "" -> {app, version}
      dir -> {app, path: Path.join(dir, Atom.to_string(app)), override: true}
    end
  end
end
