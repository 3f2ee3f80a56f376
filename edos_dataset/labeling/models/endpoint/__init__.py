"""Labels by a server with the API of OpenAI's chat completions: vLLM, llama.cpp, Ollama, or a hosted one.

Read `labeler` first; it asks `server` with the `prompts`, reads `answers`, and keeps them in the `cache`.
"""
