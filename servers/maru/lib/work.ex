defmodule Server.Work do
  @moduledoc "What the routes do besides answering."

  @doc "n steps of a linear congruential generator: pure arithmetic, the same in every language here."
  def steps(0, x), do: x
  def steps(n, x), do: steps(n - 1, rem(x * 1_664_525 + 1_013_904_223, 0x100000000))

  @doc "The request's body in its parts."
  def body(conn, parts) do
    case Plug.Conn.read_body(conn) do
      {:ok, part, conn} -> {Enum.reverse([part | parts]), conn}
      {:more, part, conn} -> body(conn, [part | parts])
    end
  end
end
