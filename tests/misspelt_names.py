"""Does a type checker see that a name of the public face is misspelt? `make lint` checks this file: an error that is
not found there is an unused `type: ignore`, which is an error itself.
"""

import softsense

softsense.comparee  # type: ignore[attr-defined]  # noqa: B018
softsense.RunTimeline.pages  # type: ignore[attr-defined]  # noqa: B018
softsense.load_config("mlc-25nm").sha265  # type: ignore[attr-defined]  # noqa: B018
softsense.run("mlc-25nm").tabel  # type: ignore[attr-defined]  # noqa: B018
softsense.compare("mlc-25nm", polices="two_step")  # type: ignore[call-arg]
softsense.compare_codes(["flash-8/9"]).polt()  # type: ignore[attr-defined]
