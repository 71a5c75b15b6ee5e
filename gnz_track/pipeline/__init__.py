"""From ``params.yaml`` to a published report: one function per stage of the pipeline that DVC drives."""
