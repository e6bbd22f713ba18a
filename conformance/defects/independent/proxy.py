"""Proxy between a client and an agent that makes one change in the frames: proxy.py DIALECT/NAME COMMAND…
"""

import json
import os
import subprocess
import sys
import threading
import time

import changes
from defects import ALL


def items(said):
    return [item for item in (said if isinstance(said, list) else [said]) if item is not None]


class Proxy:
    def __init__(self, defect, command):
        self.defect, self.state, self.writing = defect, {}, threading.Lock()
        self.agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def write(self, item):
        if isinstance(item, changes.Pause):
            time.sleep(item.seconds)
            return
        line = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        if self.defect.line:
            line = self.defect.line(line)
        with self.writing:
            sys.stdout.buffer.write(line.encode(errors="surrogatepass") + b"\n")
            sys.stdout.buffer.flush()

    def speak(self):
        for raw in self.agent.stdout:
            line = raw.decode(errors="replace").removesuffix("\n")
            frame = changes.decoded(line)
            said = line
            if frame is not None and self.defect.said:
                said = self.defect.said(frame, self.state)
            for item in items(said):
                self.write(item)

    def hear(self):
        for raw in sys.stdin.buffer:
            line, replies = raw.decode(errors="surrogateescape"), []
            if self.defect.heard:
                line, replies = self.defect.heard(line.removesuffix("\n"), self.state)
                line = None if line is None else line + "\n"
            try:
                if line is not None:
                    self.agent.stdin.write(line.encode(errors="surrogateescape"))
                    self.agent.stdin.flush()
            except OSError:
                return
            for reply in replies:
                self.write(reply)
        try:
            self.agent.stdin.close()
        except OSError:
            pass

    def run(self):
        speaker = threading.Thread(target=self.speak)
        speaker.start()
        threading.Thread(target=self.hear, daemon=True).start()
        code = self.agent.wait()
        speaker.join()
        if code < 0:
            os.kill(os.getpid(), -code)
        # Exits at once, because the thread for the client's input may be blocked in a read.
        os._exit(code)


Proxy(ALL[sys.argv[1]], sys.argv[2:]).run()
