"""The experiments of the paper's section 4 again, beside the paper's own figures.

`run` does the work part by part, `page` shows what came of it; `data_sets`, `training`, `draws` and `example` are the
parts, `findings` says in sentences what agrees with the paper and what does not.
"""
