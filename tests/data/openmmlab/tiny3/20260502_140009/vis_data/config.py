model = dict(type="TinyDet", backbone=dict(type="ResNet", depth=50, style="pytorch"))
dataset_type = "TilesDataset"
optim_wrapper = dict(
    optimizer=dict(lr=0.02, momentum=0.9, type="SGD", weight_decay=0.0001), type="OptimWrapper"
)
train_cfg = dict(max_epochs=2, type="EpochBasedTrainLoop", val_interval=1)
runner = dict(type="EpochBasedRunner", max_epochs=2)
log_config = dict(interval=50, hooks=[dict(type="TextLoggerHook")])
work_dir = "./work_dirs/tiny3_r50_v2"
gpu_ids = range(0, 1)
