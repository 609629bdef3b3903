"""Threads, pools of workers in this process or on a cluster, and available RAM. Knows nothing about labels."""

from vse_ens.run.interrupt import Interrupt as Interrupt
from vse_ens.run.pool import LocalPool as LocalPool
from vse_ens.run.pool import MergeSpec as MergeSpec
from vse_ens.run.pool import Payload as Payload
from vse_ens.run.pool import Pool as Pool
from vse_ens.run.pool import RoundResult as RoundResult
from vse_ens.run.pool import ShardWorker as ShardWorker
from vse_ens.run.pool import TaskFn as TaskFn
from vse_ens.run.pool import WorkerTiming as WorkerTiming
from vse_ens.run.pool import open_pool as open_pool
from vse_ens.run.ram import available_memory as available_memory
from vse_ens.run.threads import Workers as Workers
from vse_ens.system import available_cores as available_cores
