"""Where raw files come from: mirrors, package indexes, addresses; and a remote for what is frozen. No torch here.

- `archives`: named members of archives, streamed to files: zip and wheel, tar, single compressed files,
  archives in archives
- `download`: locks that all processes of this machine respect
- `dvc_remote`: frozen folders in a DVC remote: plain files, added, pushed and pulled by the program ``dvc``
- `fetch`: raw folders of catalogue rows: from a mirror, what is here already, or the origins of the row
- `fetch_errors`: errors between an origin of raw files and the raw folder, and on the way to a remote
- `origins`: the files of one origin, written below a folder: members of a package archive, a download, or a
  mirror's files
"""
