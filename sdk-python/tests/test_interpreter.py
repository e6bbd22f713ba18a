"""Events of the interpreter: a fork, Ctrl-C, the exit, a closed loop, a cancelled task."""

import asyncio
import gc
import json
import re
import signal
import subprocess
import sys
import textwrap
import warnings

import pytest
from support.case_runner import alive_in_group
from support.driver import LIMIT
from support.peer import STATE, playing

from agentese import TerminatedError, TimedOutError, pi


# An agent that sends an event after the first line. Neither the end of its stdin nor SIGTERM ends
# it.
DEAF = ["sh", "-c", """trap "" TERM; read -r asked; echo '{"type":"agent_start"}'; sleep 60; sleep 60"""]


def python(agent, code, **more):
    """Runs a program, which must end by itself."""
    head = f"import agentese, asyncio, json, os, select, signal, socket, sys, threading, time, warnings\nfrom agentese import pi\nAGENT, DEAF, LIMIT = {json.dumps(agent)}, {json.dumps(DEAF)}, {LIMIT}\n"
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-c", head + textwrap.dedent(code)],
        capture_output=True, text=True, timeout=2 * LIMIT, **more,
    )


PROGRAMS = {
    "fork_after_start": """
        client = pi.Client.spawn(AGENT)
        client.get_state()
        child = os.fork()
        if child == 0:
            try:
                client.get_state()
            except agentese.ForkedError:
                with pi.Client.spawn(AGENT) as own:
                    own.get_state()
                print("child", flush=True)
            del client
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert client.get_state().message_count == 0
        client.close()
        print("parent")
    """,
    "a_forked_child_does_not_hold_the_pipes": """
        client = pi.Client.spawn(AGENT)
        client.get_state()
        wait, go = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(go)
            # It is there, with all that it inherited, until the parent has closed.
            os.read(wait, 1)
            os._exit(0)
        end = client.close()
        # The end of its input was enough: no signal was needed.
        assert (end.exit_code, end.signal) == (0, None), end
        os.close(go)
        os.waitpid(child, 0)
        print("child parent")
    """,
    "a_forked_child_closes_nothing_else": """
        client = pi.Client.spawn(AGENT)
        client.close()
        # The numbers of its pipes stand for these now.
        mine = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
        child = os.fork()
        if child == 0:
            for descriptor in [0, 1, 2, *mine]:
                os.fstat(descriptor)
            print("child", flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print("parent")
    """,
    "interpreter_ends_with_an_open_client": """
        client = pi.Client.spawn(AGENT)
        client.prompt("hi")
        print("child parent agent", client.process_id)
    """,
    "interpreter_ends_after_a_client_was_let_go": """
        client = pi.Client.spawn(DEAF, eof_grace=0.2, term_grace=0.2)
        events = client.events()
        client.send_raw("{}")
        next(events)
        print("child parent agent", client.process_id)
        del events, client
    """,
    "interpreter_ends_with_nothing_but_a_listener": """
        client = pi.Client.spawn(DEAF, eof_grace=0.2, term_grace=0.2)
        events = client.events()
        client.send_raw("{}")
        next(events)
        print("child parent agent", client.process_id)
        del client
    """,
    "interpreter_ends_before_an_agent_that_takes_its_time": """
        client = pi.Client.spawn(DEAF, eof_grace=0.1, term_grace=60)
        events = client.events()
        client.send_raw("{}")
        next(events)
        print("child parent agent", client.process_id)
        del events, client
    """,
    "interpreter_ends_under_a_blocked_thread": """
        client = pi.Client.spawn(["sleep", "60"], dialogs=pi.Dialogs(), eof_grace=0.1, term_grace=0.1)
        threading.Thread(target=lambda: client.get_state(timeout=None), daemon=True).start()
        events = client.events()
        threading.Thread(target=lambda: next(events), daemon=True).start()
        threading.excepthook = lambda told: None
        time.sleep(0.1)
        print("child parent")
    """,
    "interpreter_ends_under_a_thread_that_raises": """
        # The native code makes the exception; Python makes it wait there, without the interpreter's lock.
        making = threading.Event()
        class Slow(agentese.TerminatedError):
            def __init__(self, *told, **more):
                making.set()
                time.sleep(0.3)
                super().__init__(*told, **more)
        agentese.errors.TerminatedError = Slow
        client = pi.Client.spawn(["sh", "-c", "read -r asked"], eof_grace=0.1, term_grace=0.1)
        threading.excepthook = lambda told: None
        threading.Thread(target=lambda: client.get_state(timeout=None), daemon=True).start()
        class LateSleeper:
            def __del__(self, sleep=time.sleep):
                sleep(1)
        # It goes while the interpreter does, when threads that ask for the lock are ended.
        sys.modules["late"] = type(sys)("late")
        sys.modules["late"].one = LateSleeper()
        assert making.wait(LIMIT)
        print("child parent")
    """,
    "interpreter_ends_under_asyncio": """
        async def main():
            client = pi.AsyncClient.spawn(AGENT)
            run = client.prompt("hi")
            async for event in run:
                break
            print("child parent")
        asyncio.run(main())
    """,
    "fork_inside_an_event_loop": """
        async def main():
            client = pi.AsyncClient.spawn(AGENT)
            await client.get_state()
            child = os.fork()
            if child == 0:
                wrong = []
                sys.unraisablehook = wrong.append
                client._reactor._drain()
                print(repr(client))
                del client
                os._exit(1 if wrong else 0)
            assert os.waitpid(child, 0)[1] == 0
            async with asyncio.timeout(LIMIT):
                assert (await client.get_state()).message_count == 0
                await client.close()
            print("child parent")
        asyncio.run(main())
    """,
    "a_forked_child_leaves_async_with": """
        async def main():
            child = None
            async with asyncio.timeout(LIMIT):
                try:
                    async with pi.AsyncClient.spawn(AGENT) as client:
                        await client.get_state()
                        child = os.fork()
                        if child != 0:
                            assert os.waitpid(child, 0)[1] == 0
                            assert (await client.get_state()).message_count == 0
                except agentese.ForkedError:
                    assert child == 0
                    print("child", flush=True)
                    os._exit(0)
            print("parent")
        asyncio.run(main())
    """,
    "a_forked_child_takes_no_tokens": """
        async def main():
            async with pi.AsyncClient.spawn(AGENT) as client, asyncio.timeout(LIMIT):
                call = asyncio.ensure_future(client.get_state())
                # The answer is there, and the loop has not looked.
                while not select.select([client._reactor.mailbox.fileno()], [], [], LIMIT)[0]:
                    await asyncio.sleep(0)
                child = os.fork()
                if child == 0:
                    client._reactor._drain()
                    try:
                        client._reactor.mailbox.drain()
                    except agentese.ForkedError:
                        os._exit(0)
                    os._exit(1)
                assert os.waitpid(child, 0)[1] == 0
                assert (await call).message_count == 0
            print("child parent")
        asyncio.run(main())
    """,
    "a_question_is_answered_where_it_was_asked": """
        ask = {"type": "extension_ui_request", "id": "u", "method": "confirm", "title": "?", "message": ""}
        # Lives until it has read the command and the answer.
        code = "import sys; print(sys.argv[1], flush=True); sys.stdin.readline(); sys.stdin.readline()"
        told, done = [], threading.Event()
        class Forks(pi.Dialogs):
            def confirm(self, dialog):
                question = sys._getframe(1).f_locals["question"]
                child = os.fork()
                if child == 0:
                    for use in [lambda: question.method, lambda: question.answer("{}")]:
                        try:
                            use()
                            os._exit(1)
                        except agentese.ForkedError:
                            pass
                    os._exit(0)
                told.append(os.waitpid(child, 0)[1])
                done.set()
                return True
        client = pi.Client.spawn([sys.executable, "-c", code, json.dumps(ask)], dialogs=Forks())
        try:
            client.get_state(timeout=LIMIT)
        except agentese.TerminatedError:
            pass
        assert done.wait(LIMIT) and told == [0], told
        client.close()
        print("child parent")
    """,
    "a_command_is_answered_where_it_was_given": """
        from agentese.service import serve_async
        told = []
        class Forks(pi.Service):
            async def abort(self, call):
                child = os.fork()
                if child == 0:
                    inner = call._call
                    uses = [lambda: inner.command, inner.answer, inner.finish, lambda: inner.reject("no")]
                    for use in uses:
                        try:
                            use()
                            os._exit(1)
                        except agentese.ForkedError:
                            pass
                    os._exit(0)
                told.append(os.waitpid(child, 0)[1])
        async def main():
            ours, theirs = socket.socketpair()
            with ours, theirs:
                serving = asyncio.create_task(serve_async(Forks(), theirs))
                async with asyncio.timeout(LIMIT), pi.AsyncClient.connect(ours) as client:
                    await client.abort()
                ours.shutdown(socket.SHUT_RDWR)
                await serving
            assert told == [0], told
            print("child parent")
        asyncio.run(main())
    """,
    "callback_holds_the_interpreter": """
        class Slow(pi.Dialogs):
            def confirm(self, dialog):
                sum(range(2_000_000))
                return True
        with pi.Client.spawn(AGENT, dialogs=Slow()) as client:
            for _ in range(50):
                client.get_state()
        print("child parent")
    """,
}


@pytest.mark.parametrize("name", list(PROGRAMS), ids=[f"fm_F42_{name}" for name in PROGRAMS])
def test_interpreter(agent, name):
    ended = python(agent, PROGRAMS[name])
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "child" in ended.stdout and "parent" in ended.stdout
    assert "Fatal" not in ended.stderr and "panicked" not in ended.stderr
    for process in re.findall(r"agent (\d+)", ended.stdout):
        assert not alive_in_group(int(process)), "the agent has outlived its parent"


def test_fm_F42_exit_handler_acquires_lock_of_a_native_thread():
    code = f"LIMIT = {LIMIT}\n" """
import atexit, threading
lock, is_held, ends = threading.Lock(), threading.Event(), threading.Event()
def at_end():
    ends.set()
    print("got it" if lock.acquire(timeout=LIMIT) else "waits", flush=True)
# Runs after the handler of the package, because it was there before.
atexit.register(at_end)
from agentese import types
def holds():
    with lock:
        is_held.set()
        ends.wait(LIMIT)
        repr(types.SessionState.from_json("{}"))
threading.Thread(target=holds, daemon=True).start()
assert is_held.wait(LIMIT)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=2 * LIMIT)
    assert (ended.returncode, ended.stdout) == (0, "got it\n"), ended.stderr


@pytest.mark.parametrize("work", ["client.get_state(timeout=None)", "list(client.events())", "client.prompt('hi').result()"])
def test_fm_F42_keyboard_interrupt(work):
    code = f"""
        client = pi.Client.spawn(["sh", "-c", "sleep 60"], eof_grace=0.1, term_grace=0.1)
        with client:
            try:
                print("ready", flush=True)
                {work}
            except KeyboardInterrupt:
                print("interrupted")
    """
    # If SIGINT is ignored in the tests, as in a background script, Python would ignore it too.
    head = "import signal\nfrom agentese import pi\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    child = subprocess.Popen([sys.executable, "-c", head + textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(LIMIT) == 0
        assert child.stdout.read() == "interrupted\n"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_cancelled_task_cancels_only_its_call():
    def script(peer):
        peer.receive()
        peer.answer(peer.receive(), data=STATE)
        peer.serve_until_closed()

    async def main(end):
        async with pi.AsyncClient.connect(end) as client:
            call = asyncio.create_task(client.get_state(timeout=None))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await client.get_state()).message_count == 7
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    async for _ in client.events():
                        pass
            run = client.prompt("hi")
            with pytest.raises(TimedOutError):
                await run.result(timeout=0.05)

    with playing(script) as end:
        asyncio.run(asyncio.wait_for(main(end), LIMIT))


def test_calls_after_the_end_raise_terminated_error(agent):
    async def main():
        client = pi.AsyncClient.spawn(agent)
        # The call may also succeed: the agent completes work that it has started.
        client.prompt("hi")
        events = client.events()
        end = await client.close()
        assert await client.close() == end == client.termination
        for ask in [client.get_state, lambda: client.request("get_state"), lambda: client.prompt("more").result()]:
            with pytest.raises(TerminatedError):
                await ask()
        with pytest.raises(TerminatedError):
            async for _ in events:
                pass
        assert (await asyncio.gather(client.close(), client.close())) == [end, end]

    asyncio.run(asyncio.wait_for(main(), LIMIT))


def test_close_after_a_cancelled_close():
    async def main():
        client = pi.AsyncClient.spawn(["sh", "-c", "trap '' TERM; sleep 60; sleep 60"], eof_grace=0.2, term_grace=0.2)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.close()
        assert (await client.close()).signal == signal.SIGKILL

    asyncio.run(asyncio.wait_for(main(), LIMIT))


def test_closed_event_loop_leaks_no_resources(agent):
    async def main():
        client = pi.AsyncClient.spawn(agent)
        await client.get_state()
        return client.process_id

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        process = asyncio.run(main())
        gc.collect()
    from test_process import gone

    assert gone(process)


def test_unread_events_are_available_in_the_next_event_loop():
    def script(peer):
        peer.receive()
        peer.send(*({"type": "turn_start"} for _ in range(5)))
        peer.serve_until_closed()

    async def main(end):
        async with pi.AsyncClient.connect(end) as client:
            events = client.events()
            client.send_raw('{"type":"go"}')
            seen = 0
            for _ in range(5):
                async for event in events:
                    seen += event.type == "turn_start"
                    break
            assert seen == 5

    with playing(script) as end:
        asyncio.run(asyncio.wait_for(main(end), LIMIT))
