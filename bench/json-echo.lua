-- What wrk sends in the figure serve-json, on both sides.
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = '{"id":7,"name":"otter","tags":["quick","brown"],"at":{"x":1.5,"y":-2}}'
