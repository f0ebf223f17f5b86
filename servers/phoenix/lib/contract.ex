defmodule Server.Contract do
  @moduledoc "The contract as a controller."
  use Phoenix.Controller, formats: [:json]
  import Plug.Conn

  def hello(conn, _), do: text(conn, "Hello, World!")
  def greeting(conn, _), do: json(conn, %{message: "Hello, World!"})

  def sleep(conn, params) do
    params |> number("ms", 0) |> Process.sleep()
    hello(conn, params)
  end

  def work(conn, params), do: text(conn, params |> number("n", 1000) |> steps(0) |> Integer.to_string())

  def echo(conn, _) do
    {body, conn} = body(conn, [])
    conn |> put_resp_content_type("application/octet-stream", nil) |> send_resp(200, body)
  end

  defp body(conn, parts) do
    case read_body(conn) do
      {:ok, part, conn} -> {Enum.reverse([part | parts]), conn}
      {:more, part, conn} -> body(conn, [part | parts])
    end
  end

  # n steps of a linear congruential generator: pure arithmetic, the same in every language here.
  defp steps(0, x), do: x
  defp steps(n, x), do: steps(n - 1, rem(x * 1_664_525 + 1_013_904_223, 0x100000000))

  defp number(params, key, otherwise) do
    case Integer.parse(params[key] || "") do
      {n, ""} when n >= 0 -> n
      _ -> otherwise
    end
  end
end
