"""Between a command and a terminal: words of a call, what is printed, what ends it, and the folder it was typed in.

All commands share these files.

- `commands`: options that must have a value, calls written down again, and mistakes as one line.
- `other_words`: words of other tools, and what says the same here.
- `output`: tables and sentences on a terminal, and output paths.
- `interrupts`: Ctrl-C.
- `working_folder`: the folder of the call among the places that modules are imported from.
"""
