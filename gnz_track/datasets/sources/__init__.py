"""Origins of raw files: mirrors, package indexes, addresses; and a remote for what is frozen. No torch here.

- `fetch`: from a catalogue row to its raw folder
- `origins`: the files of one origin: members of a package archive, a download, a mirror's files
- `download`: one address into one file, resumed, checked and complete
- `archives`: named members of archives, streamed to files
- `dvc_remote`: frozen folders in a DVC remote
"""
