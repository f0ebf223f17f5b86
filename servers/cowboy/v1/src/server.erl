%% The catalogue's Erlang server, on Cowboy 1: erl … -s server -extra HOST PORT
-module(server).
-behaviour(application).
-behaviour(cowboy_http_handler).

-export([start/0, start/2, stop/1, init/3, handle/2, terminate/3]).

start() ->
    {ok, _} = application:ensure_all_started(server, permanent).

start(_Type, _Arguments) ->
    [Host, Port] = init:get_plain_arguments(),
    {ok, Address} = inet:parse_address(Host),
    Paths = ["/", "/json", "/sleep", "/work", "/echo"],
    Dispatch = cowboy_router:compile([{'_', [{Path, ?MODULE, Path} || Path <- Paths]}]),
    Transport = [
        {ip, Address},
        {port, list_to_integer(Port)},
        %% As long a queue as the kernel lets it be (somaxconn).
        {backlog, 65535},
        %% The default, 1024, would leave the others waiting.
        {max_connections, infinity}
    ],
    Protocol = [
        {env, [{dispatch, Dispatch}]},
        %% The default, 100 requests, would close connections in the middle of a trial.
        {max_keepalive, infinity}
    ],
    {ok, _} = cowboy:start_http(contract, 10, Transport, Protocol).

stop(_State) ->
    ok.

init(_Transport, Request, Path) ->
    {ok, Request, Path}.

handle(Request0, Path) ->
    {Method, Request1} = cowboy_req:method(Request0),
    {ok, Request} = handle(Method, Path, Request1),
    {ok, Request, Path}.

terminate(_Reason, _Request, _Path) ->
    ok.

handle(<<"GET">>, "/", Request) ->
    text(<<"Hello, World!">>, Request);
handle(<<"GET">>, "/json", Request) ->
    %% OTP has a JSON module from 27 on.
    Body = [<<"{\"message\":\"">>, <<"Hello, World!">>, <<"\"}">>],
    reply(200, <<"application/json">>, Body, Request);
handle(<<"GET">>, "/sleep", Request0) ->
    {Ms, Request} = number(<<"ms">>, 0, Request0),
    timer:sleep(Ms),
    text(<<"Hello, World!">>, Request);
handle(<<"GET">>, "/work", Request0) ->
    {N, Request} = number(<<"n">>, 1000, Request0),
    text(integer_to_binary(work(N, 0)), Request);
handle(<<"POST">>, "/echo", Request0) ->
    {Body, Request} = body(Request0, []),
    reply(200, <<"application/octet-stream">>, Body, Request);
handle(_, _, Request) ->
    reply(405, <<"text/plain">>, <<"Method Not Allowed">>, Request).

reply(Status, Type, Body, Request) ->
    cowboy_req:reply(Status, [{<<"content-type">>, Type}], Body, Request).

text(Body, Request) ->
    reply(200, <<"text/plain">>, Body, Request).

body(Request0, Parts) ->
    case cowboy_req:body(Request0) of
        {ok, Part, Request} -> {lists:reverse([Part | Parts]), Request};
        {more, Part, Request} -> body(Request, [Part | Parts])
    end.

%% N steps of a linear congruential generator: pure arithmetic, the same in every language here.
work(0, X) -> X;
work(N, X) -> work(N - 1, (X * 1664525 + 1013904223) band 16#FFFFFFFF).

number(Key, Otherwise, Request0) ->
    {Value, Request} = cowboy_req:qs_val(Key, Request0, <<>>),
    case string:to_integer(Value) of
        {N, <<>>} when is_integer(N), N >= 0 -> {N, Request};
        _ -> {Otherwise, Request}
    end.
