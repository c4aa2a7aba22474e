"""An answer of an ASGI application counts as given once its last piece was handed to its reader.

Run by ``test/integration/python-values.test.ts``, or by hand: ``python3 -m unittest discover -s python/tests -t python``.
"""

import asyncio
import unittest

from shoal._serve_asgi import _REFUSAL_BYTES_MAX, _END, _HttpExchange, _SocketExchange

START = {"type": "http.response.start", "status": 200, "headers": []}


class _NoFeed:
    number = 0


class Answers(unittest.TestCase):
    def test_an_application_that_is_cancelled_in_its_last_send_has_failed(self):
        async def app(scope, receive, send):
            await send(START)
            await send({"type": "http.response.body", "body": b"one", "more_body": True})
            # The queue holds the head: nobody reads it.
            await send({"type": "http.response.body", "body": b"two"})

        async def run():
            exchange = _HttpExchange({"type": "http", "method": "GET"}, _NoFeed())
            task = asyncio.ensure_future(exchange.run(app))
            while not exchange.items.full():
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            items = [await exchange.items.get(), await exchange.items.get()]
            await task
            self.assertEqual(items, [[200, [], b"one", True], _END])
            with self.assertRaisesRegex(RuntimeError, "was cancelled"):
                exchange.raise_failure()

        asyncio.run(run())

    def test_a_body_that_refuses_a_websocket_has_a_limit(self):
        async def app(scope, receive, send):
            await send({"type": "websocket.http.response.start", "status": 403})
            while True:
                await send({"type": "websocket.http.response.body", "body": bytes(_REFUSAL_BYTES_MAX // 4), "more_body": True})

        async def run():
            exchange = _SocketExchange({"type": "websocket"}, _NoFeed(), {})
            await exchange.run(app)
            self.assertIs(await exchange.items.get(), _END)
            with self.assertRaisesRegex(RuntimeError, "Cannot refuse the WebSocket"):
                exchange.raise_failure()

        asyncio.run(run())


if __name__ == "__main__":
    unittest.main()
